using System.Diagnostics;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Options;

/// <summary>The program as a process: what an operator and a shell see.</summary>
public sealed class ProgramTests
{
    [Fact]
    public async Task Program_WithAWrongOption_SaysSoInOneLineAndExits1()
    {
        using Process program = ServiceProcess.Start("--Cache:DefaultTtl=-5");

        (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((1, ""), (program.ExitCode, output));
        Assert.Equal("Option Cache:DefaultTtl: '-5' is not valid: expected 0s to 31536000s.", Assert.Single(errors.Trim().Split('\n')));
    }

    [Fact]
    public async Task Program_OnAnAddressInUse_SaysSoAndExits1()
    {
        using Socket taken = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        taken.Listen();
        using Process program = ServiceProcess.Start($"--Urls=http://{taken.LocalEndPoint}", "--Admin:Url=", $"--Transport={TestService.Transport}");

        (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal(1, program.ExitCode);
        Assert.Contains("address already in use", Assert.Single(errors.Trim().Split('\n')), StringComparison.Ordinal);
        Assert.DoesNotContain("   at ", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Program_OnHttpsWithoutACertificate_SaysThatItNeedsOneAndExits1()
    {
        string home = Directory.CreateTempSubdirectory("cache-home-").FullName;
        try
        {
            // In a developer's own home there may be a certificate that Kestrel falls back to.
            using Process program = ServiceProcess.Start(["--Urls=https://127.0.0.1:0", "--Admin:Url="], [("HOME", home)]);

            (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

            Assert.Equal(1, program.ExitCode);
            string line = Assert.Single(errors.Trim().Split('\n'));
            Assert.StartsWith("Option Urls: cannot listen on 'https://127.0.0.1:0': ", line, StringComparison.Ordinal);
            Assert.Contains("certificate", line, StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(home, recursive: true);
        }
    }

    [Theory]
    [InlineData("Simple", @"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info: \S+\[21\] Serving ")]
    [InlineData("json", """^{"Timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","EventId":21,"LogLevel":"Information",""")]
    [InlineData("Systemd", @"^<6>\S+\[21\] Serving ")]
    public async Task Lines_OnTheConsole_HaveTheFormThatIsAskedFor(string form, string expected)
    {
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Logging:Console:FormatterName={form}");

        Assert.Matches(expected, await ServiceProcess.ReadLineAsync(program, "Serving "));
        await ServiceProcess.StopAsync(program);
    }

    [Fact]
    public async Task Program_WithABrokenSettingsFile_SaysSoInOneLineAndExits1()
    {
        string folder = Directory.CreateTempSubdirectory("cache-settings-").FullName;
        try
        {
            foreach (string file in Directory.EnumerateFiles(AppContext.BaseDirectory))
            {
                File.Copy(file, Path.Combine(folder, Path.GetFileName(file)));
            }

            await File.WriteAllTextAsync(Path.Combine(folder, "appsettings.json"), "{ \"Cache\": {", TestContext.Current.CancellationToken);
            using Process program = ServiceProcess.Start([], folder: folder);

            (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

            Assert.Equal((1, ""), (program.ExitCode, output));
            Assert.StartsWith("appsettings.json: ", Assert.Single(errors.Trim().Split('\n')), StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public async Task Program_AskedForHelp_ListsOptionsAndExits0()
    {
        using Process program = ServiceProcess.Start("--help");

        (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((0, ""), (program.ExitCode, errors));
        Assert.Contains("--Cache:DefaultTtl <duration>  [0s]", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Program_AskedForItsVersion_SaysItAndExits0()
    {
        using Process program = ServiceProcess.Start("--version");

        (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((0, ""), (program.ExitCode, errors));
        Assert.Matches(@"^CachingService \d+\.\d+\.\d+ \(\.NET 10\.\S+, .+\)\n$", output);
    }

    /// <summary>Addresses and the disk are left alone: a service may be running with them.</summary>
    [Theory]
    [InlineData("{ // a comment\n  \"Cache\": {\n    \"DefaultTtl\": \"60s\",\n } }", 0, "The options are valid.")]
    [InlineData("{\n \"Cache\": {\n  \"DefaultTtl\": \"soon\" } }", 1, "FILE, line 3: Option Cache:DefaultTtl: 'soon' is not valid: ")]
    [InlineData("\uFEFF{ \"Cache:MaxByte\":\n 5 }", 1, "FILE, line 2: Option Cache:MaxByte is not known. Did you mean Cache:MaxBytes? ")]
    [InlineData("{ \"Cache\": { \"Routes\": [\n {\"Prefix\":\"a\"},\n {\"Prefix\":\"b\",\n\"HoldTime\":true}] } }", 1, "FILE, line 4: Option Cache:Routes:1:HoldTime: 'True' is not valid: ")]
    [InlineData("{ \"Cache\":\n [ }", 1, "FILE: ")]
    [InlineData("{ \"Cache\": {\n  \"ErrorPages\": \"/missing\" } }", 1, "FILE, line 2: Option Cache:ErrorPages: cannot read '/missing': ")]
    [InlineData("{ \"Cache\": {\n  \"Origin\": \"file:///missing\" } }", 1, "FILE, line 2: Option Cache:Origin: cannot serve '/missing': there is no such directory.")]
    [InlineData("{ \"Cache\": { \"Routes\": [\n {\"Prefix\":\"a\",\n\"Origin\":\"file:///missing\"}] } }", 1, "FILE, line 3: Option Cache:Routes:0:Origin: cannot serve '/missing': ")]
    public async Task Program_AskedToCheckItsOptions_SaysWhatIsWrongAndWhere(string settings, int exitCode, string answer)
    {
        string file = Path.GetTempFileName();
        try
        {
            await File.WriteAllTextAsync(file, settings, TestContext.Current.CancellationToken);
            using Process program = ServiceProcess.Start("--check-config", "--Settings", file);

            (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

            Assert.Equal(exitCode, program.ExitCode);
            Assert.StartsWith(answer.Replace("FILE", file, StringComparison.Ordinal), Assert.Single((output + errors).Trim().Split('\n')), StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task Program_ConfiguredByTheEnvironment_ChecksItToo()
    {
        using Process program = ServiceProcess.Start(["--Urls=http://127.0.0.1:0"], [("Cache__DefautTtl", "5")]);

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((1, "Option Cache:DefautTtl is not known. Did you mean Cache:DefaultTtl? Run with --help for the list."), (program.ExitCode, errors.Trim()));
    }

    [Fact]
    public async Task Program_OnSigterm_StopsAndExits0()
    {
        using Process program = ServiceProcess.Start("--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0", $"--Transport={TestService.Transport}");
        await ServiceProcess.ReadUrlAsync(program);

        await ServiceProcess.StopAsync(program);

        Assert.Equal(0, program.ExitCode);
    }

    /// <summary>The origin of the demonstration listens first, then the admin side, then the public one. Each hears signals from then on.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Program_OnSigtermWhileItStarts_StopsAndExits0(int listeners)
    {
        using Process program = ServiceProcess.Start("--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0", $"--Transport={TestService.Transport}");
        for (int listener = 0; listener < listeners; listener++)
        {
            await ServiceProcess.ReadAfterAsync(program, "Now listening on: ");
        }

        await ServiceProcess.StopAsync(program);

        Assert.Equal(0, program.ExitCode);
    }

    /// <summary>As nginx and HAProxy do.</summary>
    [Fact]
    public async Task Program_OnSighupDuringADownload_ReadsItsOptionsAnewAndGoesOn()
    {
        TaskCompletionSource rest = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        string settings = Path.GetTempFileName();
        await File.WriteAllTextAsync(settings, "{}", TestContext.Current.CancellationToken);

        // The runner may ignore SIGHUP (nohup), and a child process inherits that.
        using Process program = ServiceProcess.Start(
            ["--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}", $"--Settings={settings}"],
            wrapper: ["env", "--default-signal=HUP"]);
        string url = await ServiceProcess.ReadUrlAsync(program);
        await using (RawClient client = await RawClient.StartAsync(url, "/object/a"))
        {
            await client.ReadHeadAsync();
            Assert.Equal("abc", await client.ReadExactlyAsync(3));
            await File.WriteAllTextAsync(settings, """{ "Cache": { "DefaultTtl": "60s" } }""", TestContext.Current.CancellationToken);

            await ServiceProcess.SignalAsync(program, "HUP");

            try
            {
                await ServiceProcess.ReadAfterAsync(program, "Options are read anew");
            }
            finally
            {
                rest.SetResult();
            }

            Assert.Equal("def", await client.ReadExactlyAsync(3));
        }

        foreach (string found in (string[])["fwd=uri-miss; fwd-status=200; stored", "hit; ttl=[1-6][0-9]"])
        {
            await using RawClient client = await RawClient.StartAsync(url, "/object/b");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal("abcdef", body);
            Assert.Matches($"^CachingService; {found}$", head.CacheStatus);
        }

        await ServiceProcess.StopAsync(program);
        Assert.Equal(0, program.ExitCode);
        File.Delete(settings);
    }

    /// <summary>As logrotate has nginx do.</summary>
    [Fact]
    public async Task Program_OnSigusr1_BeginsItsAccessLogAnew()
    {
        DirectoryInfo directory = Directory.CreateTempSubdirectory();
        string path = Path.Combine(directory.FullName, "access.log");
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--AccessLog:Path={path}");
        string url = await ServiceProcess.ReadUrlAsync(program);
        File.Move(path, path + ".old");

        await ServiceProcess.SignalAsync(program, "USR1");

        await Eventually.TrueAsync(() => File.Exists(path), "there is a new file");
        await using (RawClient client = await RawClient.StartAsync(url, "/object/a?size=3"))
        {
            Assert.Equal(200, (await client.ReadAsync()).Head.Status);
        }

        await ServiceProcess.StopAsync(program);
        Assert.Equal(0, program.ExitCode);
        Assert.Contains("\"path\":\"/object/a\"", Assert.Single(await File.ReadAllLinesAsync(path, TestContext.Current.CancellationToken)), StringComparison.Ordinal);
        directory.Delete(recursive: true);
    }

    [Fact]
    public async Task Program_AskedForAnAccessLogOnItsOutput_WritesItThere()
    {
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", "--AccessLog:Path=-", "--AccessLog:Format=Common");
        string url = await ServiceProcess.ReadUrlAsync(program);
        await using (RawClient client = await RawClient.StartAsync(url, "/object/a?size=3"))
        {
            await client.ReadAsync();
        }

        Assert.EndsWith("\"GET /object/a?size=3 HTTP/1.1\" 200 3 miss", await ServiceProcess.ReadLineAsync(program, "/object/a"), StringComparison.Ordinal);

        await ServiceProcess.StopAsync(program);
        Assert.Equal(0, program.ExitCode);
    }

    [Fact]
    public async Task Program_WithAProxyInItsEnvironment_AsksTheOriginItself()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("direct"));
        using Process program = ServiceProcess.Start(
            ["--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}"],
            [("http_proxy", "http://127.0.0.1:1"), ("HTTP_PROXY", "http://127.0.0.1:1"), ("all_proxy", "http://127.0.0.1:1")]);
        await using (RawClient client = await RawClient.StartAsync(await ServiceProcess.ReadUrlAsync(program), "/object/a"))
        {
            Assert.Equal("direct", (await client.ReadAsync()).Body);
        }

        await ServiceProcess.StopAsync(program);
    }

    [Theory]
    [InlineData("EPERM", "forbidden here (EPERM), by a seccomp profile in all likelihood: allow openat2 in it.")]
    [InlineData("ENOSYS", "not to be had here (ENOSYS): Linux is older than 5.6, or a sandbox or seccomp profile hides it.")]
    public async Task Program_ForADirectoryWithoutOpenat2_SaysWhyAndExits1(string error, string reason)
    {
        string[] filter = [Path.Combine(AppContext.BaseDirectory, "deny-system-calls.py"), error, "openat2"];
        using Process program = ServiceProcess.Start(["--Cache:Origin=file:///usr", "--Urls=http://127.0.0.1:0", "--Admin:Url="], wrapper: filter);

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((1, $"Option Cache:Origin: cannot serve '/usr': this needs openat2(2), which is {reason}"), (program.ExitCode, errors.Trim()));
    }

    [Fact]
    public async Task Program_WithADiskTierWithoutOpenat2_SaysWhyAndExits1()
    {
        string directory = Directory.CreateTempSubdirectory("disk-").FullName;
        string[] filter = [Path.Combine(AppContext.BaseDirectory, "deny-system-calls.py"), "ENOSYS", "openat2"];
        using Process program = ServiceProcess.Start([$"--Cache:DiskPath={directory}", "--Urls=http://127.0.0.1:0", "--Admin:Url="], wrapper: filter);

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.StartsWith(
            $"Option Cache:DiskPath: cannot use '{directory}': this needs openat2(2), which is not to be had here (ENOSYS)", errors, StringComparison.Ordinal);
        Assert.Equal(1, program.ExitCode);
        Directory.Delete(directory, recursive: true);
    }

    [Fact]
    public async Task Program_WithTooFewDescriptors_SaysHowManyItNeedsAndExits1()
    {
        using Process program = ServiceProcess.Start(["--Urls=http://127.0.0.1:0"], wrapper: ["prlimit", "--nofile=64:64"]);

        (string output, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal((1, ""), (program.ExitCode, output));
        Assert.Equal(
            "The limit of open files is 64, and the service needs at least 512: raise it with `LimitNOFILE=` or `ulimit -n`.", errors.Trim());
    }

    /// <summary>They come before the first request, for which the service loads assemblies and connects to its origin.</summary>
    [Fact]
    public async Task Program_ClientsWantAllDescriptors_SomeAreLeftForWhatTheyAskFor()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("first"));
        using Process program = ServiceProcess.Start(
            ["--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}", $"--Cache:Origin={origin.Url}"],
            wrapper: ["prlimit", "--nofile=512:512"]);
        string backend = await ServiceProcess.ReadAfterAsync(program, "IO backend: ");
        Assert.SkipUnless(backend.StartsWith("io_uring", StringComparison.Ordinal), backend);
        string url = await ServiceProcess.ReadUrlAsync(program);
        List<RawClient> clients = [];
        try
        {
            while (clients.Count < 600)
            {
                clients.Add(await RawClient.ConnectAsync(url));
            }

            await ServiceProcess.ReadAfterAsync(program, " pauses: 384 of 512 descriptors are in use");

            await clients[0].SendAsync("/object/a");
            Assert.Equal("first", (await clients[0].ReadAsync()).Body);
        }
        finally
        {
            foreach (RawClient client in clients)
            {
                await client.DisposeAsync();
            }
        }

        await using (RawClient client = await RawClient.StartAsync(url, "/object/a"))
        {
            Assert.Equal("first", (await client.ReadAsync()).Body);
        }

        await ServiceProcess.StopAsync(program);
        Assert.Equal(0, program.ExitCode);
    }
}
