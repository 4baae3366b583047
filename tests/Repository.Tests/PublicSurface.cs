using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Repository.Tests;

/// <summary>Renders what an assembly offers to others, one line per member, in an order that does not depend on the compiler.</summary>
internal static class PublicSurface
{
    private const BindingFlags Declared =
        BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    private static readonly NullabilityInfoContext s_nullability = new();

    private static readonly Dictionary<Type, string> s_keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(byte)] = "byte",
        [typeof(short)] = "short",
        [typeof(ushort)] = "ushort",
        [typeof(int)] = "int",
        [typeof(uint)] = "uint",
        [typeof(long)] = "long",
        [typeof(ulong)] = "ulong",
        [typeof(nint)] = "nint",
        [typeof(nuint)] = "nuint",
        [typeof(double)] = "double",
    };

    public static string Render(IEnumerable<Type> types) =>
        string.Join('\n', types.Where(type => type.IsVisible).OrderBy(type => type.FullName, StringComparer.Ordinal).Select(RenderType));

    private static string RenderType(Type type)
    {
        IEnumerable<string> members = type.IsEnum
            ? Enum.GetNames(type).Select(name => $"{name} = {Convert.ToInt64(Enum.Parse(type, name), CultureInfo.InvariantCulture)}")
            : type.GetMembers(Declared).Select(member => (member.Name, Text: RenderMember(member))).Where(member => member.Text is not null)
                .OrderBy(member => member.Name, StringComparer.Ordinal).ThenBy(member => member.Text, StringComparer.Ordinal)
                .Select(member => member.Text!);
        return $"{Heading(type)}\n{string.Concat(members.Select(member => $"    {member}\n"))}";
    }

    private static string Heading(Type type)
    {
        string kind = type switch
        {
            { IsEnum: true } => $"enum {type.FullName} : {Name(Enum.GetUnderlyingType(type))}",
            { IsInterface: true } => $"interface {type.FullName}",
            { IsValueType: true } => $"struct {type.FullName}",
            { IsAbstract: true, IsSealed: true } => $"static class {type.FullName}",
            { IsAbstract: true } => $"abstract class {type.FullName}",
            { IsSealed: true } => $"sealed class {type.FullName}",
            _ => $"class {type.FullName}",
        };
        IEnumerable<string> bases = type.IsEnum ? [] :
            new[] { type.BaseType }.OfType<Type>().Where(parent => parent != typeof(object) && parent != typeof(ValueType))
                .Concat(type.GetInterfaces().Except(type.BaseType?.GetInterfaces() ?? []).Where(contract => contract.IsVisible)
                    .OrderBy(Name, StringComparer.Ordinal)).Select(Name);
        return string.Join(" : ", new[] { kind, string.Join(", ", bases) }.Where(part => part.Length > 0));
    }

    private static string? RenderMember(MemberInfo member) => member switch
    {
        ConstructorInfo constructor when IsOffered(constructor) => $"new({Parameters(constructor)})",
        MethodInfo { IsSpecialName: false } method when IsOffered(method) =>
            $"{Modifier(method)}{Nullable(Name(method.ReturnType), s_nullability.Create(method.ReturnParameter))} {method.Name}{TypeParameters(method)}({Parameters(method)})",
        MethodInfo { IsSpecialName: true } method when IsOffered(method) && method.Name.StartsWith("op_", StringComparison.Ordinal) =>
            $"static {Name(method.ReturnType)} {method.Name}({Parameters(method)})",
        PropertyInfo property when Accessors(property) is { Length: > 0 } accessors =>
            $"{Modifier(property.GetAccessors(nonPublic: true)[0])}{Nullable(Name(property.PropertyType), s_nullability.Create(property))} {property.Name} {{ {accessors} }}",
        FieldInfo field when field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly =>
            $"{(field.IsLiteral ? "const " : field.IsStatic ? "static " : "")}{(field.IsInitOnly ? "readonly " : "")}{Name(field.FieldType)} {field.Name}"
            + (field.IsLiteral ? string.Create(CultureInfo.InvariantCulture, $" = {field.GetRawConstantValue()}") : ""),
        EventInfo { AddMethod: { } add } raised when IsOffered(add) => $"{Modifier(add)}event {Name(raised.EventHandlerType!)} {raised.Name}",
        _ => null,
    };

    private static bool IsOffered(MethodBase method) =>
        method is { IsPublic: true } or { IsFamily: true } or { IsFamilyOrAssembly: true } && !method.Name.Contains('<');

    private static string Modifier(MethodInfo method) =>
        (method.IsPublic ? "" : "protected ")
        + (method.IsStatic ? "static " : method.IsAbstract ? "abstract " : method.GetBaseDefinition() != method ? "override " : method is { IsVirtual: true, IsFinal: false } ? "virtual " : "");

    private static string Accessors(PropertyInfo property) =>
        string.Join(' ', new[] { property.GetMethod, property.SetMethod }.OfType<MethodInfo>().Where(IsOffered).Select(accessor =>
            accessor.ReturnParameter.GetRequiredCustomModifiers().Any(modifier => modifier.Name == "IsExternalInit") ? "init;" : $"{accessor.Name[..3]};"));

    private static string TypeParameters(MethodInfo method) =>
        method.IsGenericMethod ? $"<{string.Join(", ", method.GetGenericArguments().Select(Name))}>" : "";

    private static string Parameters(MethodBase method) => string.Join(", ", method.GetParameters().Select(parameter =>
        (parameter.Position == 0 && method.IsDefined(typeof(ExtensionAttribute)) ? "this " : "")
        + (parameter.IsOut ? "out " : parameter.IsIn ? "in " : parameter.ParameterType.IsByRef ? "ref " : "")
        + Nullable(Name(parameter.ParameterType), s_nullability.Create(parameter)) + " " + parameter.Name
        + (parameter.HasDefaultValue ? string.Create(CultureInfo.InvariantCulture, $" = {parameter.DefaultValue ?? "default"}") : "")));

    /// <summary>A value type shows its own question mark (<c>Nullable</c>); a reference type shows it here.</summary>
    private static string Nullable(string name, NullabilityInfo nullability) =>
        !nullability.Type.IsValueType && (nullability.ReadState == NullabilityState.Nullable || nullability.WriteState == NullabilityState.Nullable) ? $"{name}?" : name;

    private static string Name(Type type)
    {
        if (type.IsByRef || type.IsPointer || type.IsArray)
        {
            return Name(type.GetElementType()!) + (type.IsArray ? "[]" : type.IsPointer ? "*" : "");
        }

        if (System.Nullable.GetUnderlyingType(type) is { } underlying)
        {
            return $"{Name(underlying)}?";
        }

        return type.IsGenericType
            ? $"{type.Name[..type.Name.IndexOf('`')]}<{string.Join(", ", type.GetGenericArguments().Select(Name))}>"
            : s_keywords.GetValueOrDefault(type, type.Name);
    }
}
