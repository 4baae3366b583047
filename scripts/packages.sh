#!/usr/bin/env bash
# Makes the three NuGet packages and uses them as somebody else would. Prints one line per check and ends with "N passed, N failed".
#
#   scripts/packages.sh
#
# The packages are built twice, from two copies of the sources in different places, and must be the same but for the times that the
# archives give to their files. What is in them is compared with what should be. Then the programs in the packages' READMEs are built
# outside of this repository, from the packages in a folder feed, and run: a web application that serves on io_uring, one that uses the ring
# alone, and one with a cache; and a web application that has the cache in front of all that it can be in front of.
#
# Needs the .NET SDK, curl and unzip; as root on Debian it installs the last two. The packages stay in artifacts/packages. All other files,
# the package cache of the programs included, are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_CLI_UI_LANGUAGE=en

REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
readonly PACKAGES=(IoUringCache.Ring IoUringCache.Transport IoUringCache.Caching)
readonly SOURCES=(.editorconfig Directory.Build.props Directory.Packages.props LICENSE global.json src)
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

output="$REPOSITORY/artifacts/packages"
application_pid=
work=

main() {
    parse_arguments "$@"
    "$REPOSITORY/scripts/require-tools.sh" curl unzip || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end

    make_packages
    local package
    for package in "${PACKAGES[@]}"; do
        check_package "$package"
    done
    use_transport
    use_ring
    use_cache
    use_cache_everywhere
    finish
}

parse_arguments() {
    case "${1:-}" in
        '') ;;
        --help) show_help ;;
        *) give_up "$1: unknown option; see --help" ;;
    esac
}

clean_up() {
    [[ -z "$application_pid" ]] || kill -KILL "$application_pid" 2> /dev/null
    wait 2> /dev/null
    [[ -n "$work" ]] && rm -rf "$work"
}

make_packages() {
    commit=
    # A package names the commit that it was made of, and no commit where the sources differ from it.
    if [[ -z "$(git -C "$REPOSITORY" status --porcelain 2>&1)" ]]; then
        commit="$(git -C "$REPOSITORY" rev-parse HEAD)"
    fi
    pack "$work/first" "$work/first/packages"
    pack "$work/a/second" "$work/a/second/packages"
    rm -rf "$output"
    mkdir -p "$output"
    cp "$work/first/packages"/* "$output"
    version="$(basename "$output"/IoUringCache.Ring.*.nupkg .nupkg)"
    version="${version#IoUringCache.Ring.}"
}

# pack FOLDER OUTPUT: copies the sources, without what builds leave behind, and packs that.
pack() {
    local package source=()
    [[ -z "$commit" ]] || source=("-p:SourceRevisionId=$commit" "-p:RepositoryCommit=$commit" -p:RepositoryType=git)
    echo "packing"
    mkdir -p "$1"
    cd "$REPOSITORY" || give_up "$REPOSITORY is gone"
    find "${SOURCES[@]}" \( -name bin -o -name obj \) -prune -o -type f -print0 | xargs -0 cp --parents --target-directory "$1"
    for package in "${PACKAGES[@]}"; do
        # git is asked here and not by the SDK, which would find that of a folder above the copy, if anything.
        dotnet pack "$1/src/$package" --configuration Release --output "$2" --nologo --verbosity quiet -p:ContinuousIntegrationBuild=true \
            -p:EnableSourceControlManagerQueries=false "${source[@]}" > "$work/pack.log" 2>&1 \
            || { cat "$work/pack.log"; give_up "$package cannot be packed"; }
    done
}

# check_package NAME: what is in it, what it says of itself, and that it was made the same twice.
check_package() {
    local file="$output/$1.$version" folder="$work/contents/$1"
    mkdir -p "$folder"
    unzip -q "$file.nupkg" -d "$folder" && unzip -qn "$file.snupkg" -d "$folder" || give_up "$1: there is no package, or no symbols"

    check "$1 holds its assembly, its documentation, README, icon and licence, and nothing else" "$(stat -c %s "$file.nupkg") bytes" \
        holds_only "$file.nupkg" LICENSE README.md icon.png "lib/net10.0/$1.dll" "lib/net10.0/$1.xml" "$1.nuspec"
    check "$1 has its symbols in a package of their own" "$(stat -c %s "$file.snupkg") bytes" \
        holds_only "$file.snupkg" "lib/net10.0/$1.pdb" "$1.nuspec"
    check "$1 has the repository's licence" "$(nuspec_value "$1" license), file and expression" has_licence "$1"
    check "$1 depends on what it should" "$(dependencies "$1" | sed '$!s/$/,/' | paste -sd ' ' | grep . || echo nothing)" depends_as_expected "$1"
    check "$1 names its repository, and the commit of its sources, if they are one" "${commit:-the sources are not those of a commit}" \
        has_origin "$1"
    check "$1 has a README whose links work outside of the repository" "$(grep -c '](' "$folder/README.md") links" has_absolute_links "$1"
    check "$1 documents what it offers" "$(grep -c '<member ' "$folder/lib/net10.0/$1.xml") members" grep -q '<example>' "$folder/lib/net10.0/$1.xml"
    check "$1 holds no path of the machine that made it" "assembly and symbols" has_no_path "$folder/lib/net10.0/$1"
    check "$1 is the same when it is made again elsewhere" "SHA-256 of the contents $(content_sum "$file.nupkg")" is_made_the_same "$1.$version"
}

# holds_only ARCHIVE FILE...: besides the files that every package has by its format.
holds_only() {
    local archive="$1"
    shift
    diff <(printf '%s\n' "$@" | sort) \
        <(unzip -Z1 "$archive" | grep -Evx '_rels/\.rels|\[Content_Types\]\.xml|package/services/metadata/core-properties/[^/]*\.psmdcp' | sort)
}

nuspec_value() {
    sed -n "s/.*<$2\b[^>]*>\([^<]*\)<.*/\1/p" "$work/contents/$1/$1.nuspec"
}

has_licence() {
    [[ "$(nuspec_value "$1" license)" == MIT ]] && cmp "$REPOSITORY/LICENSE" "$work/contents/$1/LICENSE"
}

dependencies() {
    sed -n 's/.*<\(dependency id\|frameworkReference name\)="\([^"]*\)"\( version="\([^"]*\)"\)\?.*/\2 \4/p' "$work/contents/$1/$1.nuspec" | sed 's/ $//'
}

depends_as_expected() {
    case "$1" in
        IoUringCache.Ring) [[ -z "$(dependencies "$1")" ]] ;;
        IoUringCache.Caching) diff <(printf '%s\n' "IoUringCache.Transport $version" "Polly.Core $(central_version Polly.Core)" "ZstdSharp.Port $(central_version ZstdSharp.Port)" \
            Microsoft.AspNetCore.App) \
            <(dependencies "$1") ;;
        *) diff <(printf '%s\n' "IoUringCache.Ring $version" Microsoft.AspNetCore.App) <(dependencies "$1") ;;
    esac
}

central_version() {
    sed -n "s/.*Include=\"$1\" Version=\"\([^\"]*\)\".*/\1/p" "$REPOSITORY/Directory.Packages.props"
}

has_origin() {
    local repository url
    repository="$(grep -o '<repository [^>]*>' "$work/contents/$1/$1.nuspec")"
    url="$(sed -n 's/.*<RepositoryUrl>\(.*\)<.*/\1/p' "$REPOSITORY/Directory.Build.props")"
    [[ "$repository" == *" url=\"$url\""* && "$(nuspec_value "$1" projectUrl)" == "$url" ]] || return 1
    [[ "$(nuspec_value "$1" releaseNotes)" == "$url/blob/main/CHANGELOG.md" && "$(nuspec_value "$1" icon)" == icon.png ]] || return 1
    [[ -z "$commit" || "$repository" == *" commit=\"$commit\""* ]]
}

has_absolute_links() {
    ! grep -oE '\]\([^)]*\)' "$work/contents/$1/README.md" | grep -v '](https://'
}

# Sources are named from the root of the repository on, as /_/src/...
has_no_path() {
    ! grep -qF "$work" "$1.dll" "$1.pdb" && ! grep -qF "$REPOSITORY/" "$1.dll" "$1.pdb" && grep -qF "/_/src/" "$1.dll"
}

is_made_the_same() {
    local kind
    for kind in nupkg snupkg; do
        [[ "$(content_sum "$output/$1.$kind")" == "$(content_sum "$work/a/second/packages/$1.$kind")" ]] || return 1
    done
}

# content_sum ARCHIVE: over the names and the bytes of all files in it.
content_sum() {
    { unzip -Z1 "$1" && unzip -p "$1"; } | sha256sum | cut -d ' ' -f 1
}

# new_application NAME SDK PACKAGE: a project whose program is the first one in the package's README, built from the package alone.
new_application() {
    mkdir "$work/$1"
    unzip -p "$output/$3.$version.nupkg" README.md | sed -n '/^```csharp$/,/^```$/{/^```csharp$/d;/^```$/q;p}' > "$work/$1/Program.cs"
    build_application "$@"
}

# build_application NAME SDK PACKAGE [REFERENCE]: from the program that is there, with one more package by what refers to it.
build_application() {
    local folder="$work/$1"
    cat > "$folder/$1.csproj" << PROJECT
<Project Sdk="$2">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <ImplicitUsings>enable</ImplicitUsings>
    <Nullable>enable</Nullable>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
    <NoWarn>\$(NoWarn);IOURING001</NoWarn>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="$3" Version="$version" />
    ${4:-}
  </ItemGroup>
</Project>
PROJECT
    cat > "$folder/nuget.config" << CONFIG
<configuration>
  <packageSources>
    <clear />
    <add key="folder" value="$output" />
    <add key="nuget.org" value="https://api.nuget.org/v3/index.json" />
  </packageSources>
  <packageSourceMapping>
    <packageSource key="folder"><package pattern="IoUringCache.*" /></packageSource>
    <packageSource key="nuget.org"><package pattern="*" /></packageSource>
  </packageSourceMapping>
</configuration>
CONFIG
    # A package cache of its own: an older build of the same version must not be used, and this one not be left to others.
    NUGET_PACKAGES="$work/cache" dotnet build "$folder" --configuration Release --nologo --verbosity quiet > "$work/build.log" 2>&1 \
        || { cat "$work/build.log"; give_up "a new application with $3 does not build"; }
    check "a new application gets $3 from the folder" "version $version" [ -f "$work/cache/${3,,}/$version/lib/net10.0/$3.dll" ]
}

use_transport() {
    new_application Web Microsoft.NET.Sdk.Web IoUringCache.Transport
    url="http://127.0.0.1:$(free_port)"
    IoUring__LoopCount=2 IoUring__LoopsCount=3 dotnet "$work/Web/bin/Release/net10.0/Web.dll" --urls "$url" > "$work/web.log" 2>&1 &
    application_pid=$!
    if ! wait_until 20 answers_or_is_gone || is_gone "$application_pid"; then
        cat "$work/web.log"
        give_up "the new application does not start"
    fi
    check "it answers a request" "$(curl --silent --max-time 5 "$url")" answers
    check "it serves on io_uring, configured by its configuration" "$(grep -o 'IO backend: .*' "$work/web.log")" \
        grep -q 'IO backend: io_uring (2 loops' "$work/web.log"
    check "it warns of a key that is no option" "$(grep -om 1 'IoUring:LoopsCount' "$work/web.log")" \
        grep -q 'no options of the transport.*: IoUring:LoopsCount\.' "$work/web.log"
    check "SIGTERM ends it in order" "exit status 0 within 15 s" end_in_order "$application_pid" 15
    application_pid=
    check "it logged no failure" "$(grep -c . "$work/web.log") lines of log" has_no_failure "$work/web.log"

    # In a shell of its own, whose standard error takes bash's line about the process that aborts.
    (IoUring__Backend=Fast timeout 20 dotnet "$work/Web/bin/Release/net10.0/Web.dll" --urls "$url" > "$work/wrong.log" 2>&1; true) 2> /dev/null
    check "a wrong value of its configuration is named" "$(grep -om 1 "Failed to convert.*'IoUring:[A-Za-z]*'" "$work/wrong.log")" \
        grep -q "'Fast' at 'IoUring:Backend'" "$work/wrong.log"
    [[ $failed -eq 0 ]] || tail -n 30 "$work/web.log" "$work/wrong.log"
}

answers() {
    [[ "$(curl --silent --max-time 5 "$url")" == Hello ]]
}

answers_or_is_gone() {
    answers || is_gone "$application_pid"
}

use_ring() {
    new_application Console Microsoft.NET.Sdk IoUringCache.Ring
    timeout 20 dotnet "$work/Console/bin/Release/net10.0/Console.dll" > "$work/console.log" 2>&1
    check "it uses a ring" "$(head -n 1 "$work/console.log")" grep -qx 'kind 1, slot 7, generation 0: 0' "$work/console.log"
}

use_cache() {
    new_application Cached Microsoft.NET.Sdk.Web IoUringCache.Caching
    start_cached Cached
    check "the README's report is made once" "$(curl --silent "$url/report")" is_made_once
    check "its cache has figures" "$(curl --silent "$url/cache/metrics" | grep '^cache_hits_total')" has_hits
    end_cached
}

# The origin of the proxies is an end point of the application itself.
use_cache_everywhere() {
    mkdir "$work/Everywhere"
    cat > "$work/Everywhere/Program.cs" << 'PROGRAM'
using Yarp.ReverseProxy.Configuration;

var builder = WebApplication.CreateBuilder(args);
string origin = builder.Configuration["urls"]!;
builder.WebHost.UseIoUring();
builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
builder.Services.AddReverseProxy().LoadFromMemory(
    [new RouteConfig { RouteId = "all", ClusterId = "one", Match = new() { Path = "/proxied/{**path}" } }],
    [new ClusterConfig { ClusterId = "one", Destinations = new Dictionary<string, DestinationConfig> { ["only"] = new() { Address = origin + "/origin/" } } }]);

var app = builder.Build();
int requests = 0;
app.Map("/origin/{**path}", (HttpResponse response) =>
{
    response.Headers.CacheControl = "max-age=60";
    return $"origin {Interlocked.Increment(ref requests)}";
});
app.MapStreamingCache("/object/{**id}", $"{origin}/origin", route => route.StripPathPrefix = "/object/");
app.MapStreamingCache("/site/{**path}", new[] { $"{origin}/origin", "http://127.0.0.1:1" });
app.MapReverseProxy().WithStreamingCache();
app.MapGet("/report", () => $"report {Interlocked.Increment(ref requests)}").WithStreamingCache(TimeSpan.FromMinutes(1));
app.Run();
PROGRAM
    build_application Everywhere Microsoft.NET.Sdk.Web IoUringCache.Caching \
        "<PackageReference Include=\"Yarp.ReverseProxy\" Version=\"$(central_version Yarp.ReverseProxy)\" />"
    start_cached Everywhere
    local path
    for path in object/a site/a proxied/a report; do
        check "/$path is fetched once" "$(curl --silent --max-time 5 "$url/$path")" is_stored "$url/$path"
    done
    end_cached
}

start_cached() {
    url="http://127.0.0.1:$(free_port)"
    dotnet "$work/$1/bin/Release/net10.0/$1.dll" --urls "$url" > "$work/$1.log" 2>&1 &
    application_pid=$!
    application_log="$work/$1.log"
    if ! wait_until 20 listens_or_is_gone || is_gone "$application_pid"; then
        cat "$application_log"
        give_up "the new application does not start"
    fi
}

listens_or_is_gone() {
    grep -q 'Application started' "$application_log" || is_gone "$application_pid"
}

end_cached() {
    check "SIGTERM ends it in order" "exit status 0 within 15 s" end_in_order "$application_pid" 15
    application_pid=
    check "it logged no failure" "$(grep -c . "$application_log") lines of log" has_no_failure "$application_log"
    [[ $failed -eq 0 ]] || tail -n 30 "$application_log"
}

is_made_once() {
    [[ "$(curl --silent "$url/report")" == "made at "* && "$(curl --silent "$url/report")" == "$(curl --silent "$url/report")" ]]
}

has_hits() {
    curl --silent "$url/cache/metrics" | grep -q '^cache_hits_total [1-9]'
}

# is_stored URL: the same answer each time, and it says that it is a hit.
is_stored() {
    local first
    first="$(curl --silent --max-time 5 "$1")"
    [[ -n "$first" && "$first" == "$(curl --silent --max-time 5 "$1")" ]] && curl --silent --include --max-time 5 "$1" | grep -qi '^cache-status: .*hit'
}

main "$@"
