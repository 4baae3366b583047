using System.Text.Json;
using IoUringCache.Caching.Admin;
using IoUringCache.Caching.Serving;

namespace IoUringCache.Clustering;

/// <summary><c>GET /cluster</c>: this node and those that it has heard of. Any thread.</summary>
internal static class ClusterEndpoint
{
    /// <exception cref="FormatException">There is a parameter.</exception>
    public static Task AnswerAsync(HttpContext context, PurgeCluster? cluster)
    {
        _ = new AdminQuery(context.Request.QueryString);
        if (cluster is null)
        {
            JsonAnswer.Refuse(context, StatusCodes.Status404NotFound, "this is one node alone: Cache:Cluster:Nats is not set");
            return Task.CompletedTask;
        }

        JsonAnswer.Write(context, json =>
        {
            json.WriteString("node", cluster.Node);
            json.WriteString("state", NameOf(cluster.State));
            json.WriteString("fault", cluster.Fault);
            json.WriteSeconds("silence", cluster.Silence);
            json.WriteNumber("applied", cluster.Applied);
            json.WriteNumber("lag", cluster.Lag);
            json.WriteNumber("unsent", cluster.Unsent);
            json.WriteStartArray("nodes");
            long furthest = Math.Max(cluster.Applied + cluster.Lag, cluster.Nodes.Select(static node => node.Applied).DefaultIfEmpty().Max());
            foreach (NodeReport node in cluster.Nodes)
            {
                json.WriteStartObject();
                json.WriteString("name", node.Name);
                json.WriteString("state", NameOf(node.State));
                json.WriteNumber("applied", node.Applied);
                json.WriteNumber("lag", furthest - node.Applied);
                json.WriteNumber("hitRatio", RatioOf(node.Figures));
                json.WriteNumber("fetches", node.Figures.Fetches);
                json.WriteNumber("objects", node.Figures.Objects);
                json.WriteEndObject();
            }

            json.WriteEndArray();
        });
        return Task.CompletedTask;
    }

    private static string NameOf(ClusterState state) => JsonNamingPolicy.CamelCase.ConvertName(state.ToString());

    private static double RatioOf(NodeFigures figures) =>
        figures.Hits + figures.Misses == 0 ? 0 : Math.Round((double)figures.Hits / (figures.Hits + figures.Misses), 4);
}
