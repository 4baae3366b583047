// YARP on Kestrel's own transport, to compare with: it forwards what is below /object/ to an origin.
//
//   IoUringCache.YarpProxy --urls http://127.0.0.1:8090 --Cache:Origin=http://127.0.0.1:9000
using Yarp.ReverseProxy.Configuration;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.Logging.AddFilter("Yarp", LogLevel.Warning).AddFilter("Microsoft.AspNetCore", LogLevel.Warning);
builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Limits.MaxRequestBodySize = null);
string origin = builder.Configuration["Cache:Origin"] ?? throw new InvalidOperationException("--Cache:Origin is missing.");
builder.Services.AddReverseProxy().LoadFromMemory(
    [
        new RouteConfig
        {
            RouteId = "objects",
            ClusterId = "origin",
            Match = new() { Path = "/object/{**id}" },
            Transforms = [new Dictionary<string, string> { ["PathRemovePrefix"] = "/object" }],
        },
    ],
    [new ClusterConfig { ClusterId = "origin", Destinations = new Dictionary<string, DestinationConfig> { ["origin"] = new() { Address = origin } } }]);
WebApplication app = builder.Build();
app.MapReverseProxy();
app.Run();
