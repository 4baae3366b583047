using Microsoft.AspNetCore.SignalR;

namespace Protocol.Tests.SignalR;

/// <summary>What the clients call. SignalR makes one for every call.</summary>
public sealed class TestHub : Hub
{
#pragma warning disable CA1822 // A hub's methods are found only if they are of an instance.
    public string Echo(string text) => text;

    public async IAsyncEnumerable<int> Count(int count)
    {
        for (int i = 0; i < count; i++)
        {
            await Task.Yield();
            yield return i;
        }
    }

    public async Task<int> Sum(IAsyncEnumerable<int> numbers)
    {
        int sum = 0;
        await foreach (int number in numbers)
        {
            sum += number;
        }

        return sum;
    }
#pragma warning restore CA1822

    public async Task Tick(int count)
    {
        for (int i = 0; i < count; i++)
        {
            await Clients.Caller.SendAsync("tick", i);
        }
    }

    /// <summary>Ends the connection below the hub, as a server that fails does; ending it by the hub would tell the client not to come back.</summary>
    public void Drop() => Context.GetHttpContext()!.Abort();
}
