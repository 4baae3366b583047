// A YARP reverse proxy with the streaming cache in front of it: what many clients ask for at once is fetched once, and streamed to all of them.
// Routes and clusters are in appsettings.json.
//
//   dotnet run -c Release --project samples/YarpCaching -- --urls http://127.0.0.1:8090

WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseIoUring();
builder.Services.AddStreamingCache(builder.Configuration.GetSection("Cache"));
builder.Services.AddReverseProxy().LoadFromConfig(builder.Configuration.GetSection("ReverseProxy"));

WebApplication app = builder.Build();
app.MapReverseProxy().WithStreamingCache();

// GET /cache/metrics; the others ask for a token or for RequireAuthorization.
app.MapStreamingCacheAdmin();
app.Run();
