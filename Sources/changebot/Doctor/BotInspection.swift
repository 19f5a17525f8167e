internal import BotState
internal import Bots
internal import Dispatch
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import PostgreSQL
internal import Rules

/// Runs all checks of one bot. Independent checks run concurrently.
struct BotInspection: Sendable {
    let bot: DoctorBot
    /// As in ``GatewayInspection/idle``.
    let idle: Duration?
    let report: BotReport

    func run() async {
        await report.finish(.settings, bot.findings)
        if bot.databases == nil || bot.access == nil { await report.finish(.databases, []) }
        let rules = await onOtherThread { [paths = bot.rulePaths] in RulesCheck(paths) }
        await report.finish(.rules, rules.rules)
        await report.finish(.pictures, rules.pictures)
        await report.finish(.files, rules.files)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await inspectGateway(rules) }
            group.addTask { await inspectEngine() }
            group.addTask { await inspectState() }
        }
    }

    private func inspectGateway(_ rules: RulesCheck) async {
        let all: [DoctorCheck] = [.reachability, .tls] + DoctorCheck.gatewayChecks
        switch bot.choice {
        case nil: await report.skip(all, "the settings are not valid")
        case .embedded(let file):
            if let file { await report.finish(.gateway, Self.finding(ofFile: file)) }
            await report.skip(all, "the gateway runs inside the bot")
        case .remote(var url):
            guard var settings = bot.access else { return await report.skip(all, "the settings are not valid") }
            if let patterns = bot.databases {
                let check = await DatabasesCheck(url, settings, patterns)
                await report.finish(.databases, check.findings)
                guard let example = check.example else {
                    return await report.skip(all, "there is no database to check")
                }
                url = example
            }
            settings.keepsExpiry = settings.keepsExpiry || rules.readsExpiry
            await GatewayInspection(
                url: url, settings: settings, channels: bot.channels, related: rules.related, writes: rules.writes,
                following: bot.following, idle: idle, advice: bot.advice, report: report
            ).run()
        }
    }

    /// Does not open the file, because a running bot may use it.
    private static func finding(ofFile file: String) -> Finding {
        guard let facts = FileFacts(file, followsLink: true) else {
            let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
            guard let reason = FolderProbe.writeFailure(folder) else {
                return .ok("embedded; \(file) does not exist yet; 'run' creates it")
            }
            return Finding(
                .error, "\(file) does not exist and can't be created: \(reason)",
                remedy: "correct the path in embedded:FILE, or create its folder")
        }
        guard facts.kind == .file else {
            return Finding(.error, "\(file) is not a file", remedy: "correct the path in embedded:FILE")
        }
        guard Glibc.access(file, R_OK | W_OK) == 0 else {
            return Finding(
                .error, "\(file) can't be written to: \(String(cString: strerror(errno)))",
                remedy: "give the bot's user write permission")
        }
        return .ok("embedded, in \(file)")
    }

    private func inspectEngine() async {
        guard bot.hasEngine, bot.choice != .embedded(file: nil) else { return await report.finish(.engine, []) }
        guard let engine = bot.engine else { return await report.skip([.engine], "the settings are not valid") }
        let findings = await onOtherThread { [partitions = bot.sharing?.partitions] in
            let inspected: Result<EngineInspection, StateError>
            do throws(StateError) { inspected = .success(try engine.inspect()) } catch { inspected = .failure(error) }
            return EngineCheck.findings(
                inspected, isUnverified: engine.address.isUnverified, allowsUnsafe: engine.allowsUnsafe,
                partitions: partitions)
        }
        await report.finish(.engine, findings)
    }

    private func inspectState() async {
        if bot.choice == .embedded(file: nil) {
            return await report.skip([.state, .disk], "a bot with a gateway in memory keeps no state")
        }
        let (state, disk) = await onOtherThread { [catalogue = bot.state, hasEngine = bot.hasEngine] in
            let folder = StateFolder(inspecting: catalogue.directory, bot: catalogue.name)
            // With an engine, the folder holds only what concerns this machine.
            if hasEngine {
                return (StateCheck.findings(folder, nil), DiskCheck(inspecting: folder.ancestor)?.finding)
            }
            let states: Result<[StateInspection], StateError>
            do throws(StateError) { states = .success(try catalogue.inspect()) } catch { states = .failure(error) }
            return (StateCheck.findings(folder, states), DiskCheck(inspecting: folder.ancestor)?.finding)
        }
        await report.finish(.state, state)
        await report.finish(.disk, disk ?? Finding(.unknown, "the system does not report the free space"))
    }
}

/// Runs blocking `work` on a thread outside the cooperative pool.
func onOtherThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: work()) }
    }
}
