internal import GatewayClient
internal import HTTPTransport
internal import LosslessJSON
internal import TestKit

/// The network between one process, the gateway and other servers. Each request and each answer is an event, and some are troubled.
final class Connection: HTTPCarrier, @unchecked Sendable {
    /// Who gets a request, and what.
    private enum Target {
        case gateway(GatewayMessage)
        case server(any OutsideServer, OutsideRequest)

        var isReceiver: Bool { if case .server(let server, _) = self { server is EventReceiver } else { false } }
        var isGateway: Bool { if case .gateway = self { true } else { false } }

        var writesMark: Bool {
            if case .gateway(let message) = self {
                message.method == "PUT" && message.path.hasPrefix("_local/")
                    && !message.path.hasPrefix(Connection.markOfPasses)
            } else {
                false
            }
        }

        /// The documents whose changes cause this request, if members of a fleet must hold leases for it.
        var causes: [String]? {
            switch self {
            case .gateway(let message):
                guard message.path == "_bulk_docs" else { return nil }
                let documents = (try? JSONText(message.body))?.root["docs"]
                return documents?.elements.compactMap { $0["_id"]?.string }
            case .server(let server, let request):
                guard server is EventReceiver else { return nil }
                return ((try? JSONText(request.body))?.root["_id"]?.string).map { [$0] }
            }
        }

        var plain: String {
            switch self {
            case .gateway(let message): message.plain
            case .server(_, let request): request.summary
            }
        }
    }

    private final class Exchange {
        let answer: CarriedAnswer
        let request: HTTPRequest
        let target: Target
        let fault: FaultKind?
        /// Counts what restarts a time limit.
        var limits = (exchange: 0, idle: 0)
        let began: Int64
        var wasRefused = false
        /// Nil for a request without a login, and to other servers.
        let credentials: HTTPCredentials?

        init(_ answer: CarriedAnswer, _ request: HTTPRequest, _ target: Target, _ fault: FaultKind?, at now: Int64) {
            (self.answer, self.request, self.target, self.fault, began) = (answer, request, target, fault, now)
            credentials = target.isGateway ? request.credentials : nil
        }
    }

    /// The marks of the passes over all documents.
    static let markOfPasses = "_local/changebot.fix-"

    private unowned let world: World
    /// The number of the process.
    private let owner: Scheduler.Owner
    private var exchanges: [UInt64: Exchange] = [:]
    /// Answers that wait for the next one.
    private var held: [UInt64: (exchange: Exchange, answer: GatewayAnswer)] = [:]
    /// Tests of the other scheme.
    private var probes = 0
    private var numbers: SplitMix64
    /// Whether the process can't reach the gateway.
    var isCutOff = false

    init(_ world: World, of owner: Scheduler.Owner, seed: UInt64) {
        (self.world, self.owner) = (world, owner)
        numbers = SplitMix64(seed: seed)
    }

    // MARK: - HTTPCarrier

    func carry(_ request: HTTPRequest, _ answer: CarriedAnswer) {
        // The power has failed in this step.
        if world.fleet.machines[0].disk.isTorn { return }
        guard let target = target(of: request) else {
            // The test of the other scheme: this port has no TLS.
            probes += 1
            return world.scheduler.after(.milliseconds(1)) { [self] in
                probes -= 1
                acting { answer.fail(.tlsFailed(.notTLS), "no TLS") }
            }
        }
        checkOverlap(target)
        let fault = outage(of: target) ?? world.faults.ofNextRequest(factor: target.isGateway ? 1 : 8)
        let exchange = Exchange(answer, request, target, fault, at: world.scheduler.uptime)
        exchanges[answer.id] = exchange
        if case .server(let server, let message) = target, server is EventReceiver {
            world.checking { try world.checks.edges.checkSent(message, world.gateway) }
        }
        if let engine = world.fleet.engine, let causes = target.causes {
            world.checking { try engine.checkBegin(causes, by: owner, target.plain) }
        }
        if let fault { world.story.tell("network", "\(fault.plain): bot \(owner) \(target.plain)") }
        if let deadline = request.deadline { limit(exchange, to: deadline) }
        limitIdleTime(exchange)
        world.scheduler.after(latency) { [self] in arrive(exchange) }
    }

    /// One document is decided at a time, so its events are sent one after the other.
    private func checkOverlap(_ target: Target) {
        guard target.isReceiver, let id = target.causes?.first,
            exchanges.values.contains(where: { $0.target.isReceiver && $0.target.causes?.first == id })
        else { return }
        world.checking {
            throw Violation(guarantee: .webhooks, detail: "bot \(owner) sends two events about \(id) at the same time")
        }
    }

    private func target(of request: HTTPRequest) -> Target? {
        if let server = world.servers.server(of: request.url) {
            return .server(server, OutsideRequest(request, to: server, from: owner))
        }
        return GatewayMessage(request, from: owner).map { .gateway($0) }
    }

    private func outage(of target: Target) -> FaultKind? {
        switch target {
        case .gateway: world.isGatewayAway || isCutOff ? .outage : nil
        case .server(let server, _): world.servers.isAway(server) ? .serverOutage : nil
        }
    }

    func cancel(_ id: UInt64) {
        guard let exchange = exchanges[id] else { return }
        finish(exchange) { $0.fail(.cancelled, "cancelled") }
    }

    func extendDeadline(of id: UInt64, to deadline: ContinuousClock.Instant) {
        guard let exchange = exchanges[id] else { return }
        limit(exchange, to: ContinuousClock.now.duration(to: deadline))
    }

    /// Whether no answer is outstanding.
    var isIdle: Bool { exchanges.isEmpty && probes == 0 }

    /// The requests without an answer, the oldest first.
    var openRequests: [(plain: String, since: Int64)] {
        exchanges.sorted { $0.key < $1.key }.map { ($0.value.target.plain, $0.value.began) }
    }

    // MARK: - The way of a request

    private var latency: Duration {
        numbers.chance(20) ? .milliseconds(numbers.below(200)) : .microseconds(200 + numbers.below(3_000))
    }

    private func isOpen(_ exchange: Exchange) -> Bool { exchanges[exchange.answer.id] === exchange }

    private func arrive(_ exchange: Exchange) {
        switch exchange.fault {
        case .refusedConnection, .outage, .serverOutage: fail(exchange, .cannotConnect, "connection refused")
        case .lostRequest: fail(exchange, .connectionClosed, "the connection was closed")
        case .unavailable:
            let status = exchange.target.isGateway ? 503 : numbers.pick([408, 429, 500, 500, 502, 503])
            let isHidden = world.breakage == .lostEvent && exchange.target.isReceiver
            let answer = GatewayAnswer(
                status: isHidden ? 202 : status, #"{"error":"service_unavailable","reason":"busy"}"#)
            let pause = numbers.chance(3) ? [(name: "Retry-After", value: String(1 + numbers.below(5)))] : []
            send(answer, on: exchange, headers: pause)
        case .doubledRequest:
            ask(exchange) { _ in }
            world.scheduler.after(latency) { [self] in
                world.repeating { ask(exchange) { [self] in send($0, on: exchange) } }
            }
        default: ask(exchange) { [self] in handle($0, on: exchange) }
        }
    }

    private func ask(_ exchange: Exchange, _ reply: @escaping (GatewayAnswer) -> Void) {
        let tell = { [world, owner] (who: String, answer: GatewayAnswer) in
            world.story.tell(who, "bot \(owner) \(exchange.target.plain)\(answer.plain)")
        }
        switch exchange.target {
        case .server(let server, let request):
            let answer = server.answer(world.breakage?.broken(request) ?? request)
            tell("server", answer)
            reply(answer)
        case .gateway(var message):
            guard !world.operations.database.isOffline else {
                return fail(exchange, .connectionClosed, "the connection was closed")
            }
            if exchange.fault == .lateNode { message.lag = .milliseconds(200 + numbers.below(4_000)) }
            let share = world.gateway.failingShare
            if share > 0, message.path == "_bulk_docs", numbers.below(100) < share {
                world.faults.note(.failedRow)
                message.failing = numbers.next()
            }
            guard isLoggedIn(exchange) else { return refuse(exchange) }
            do {
                try world.gateway.answer(world.breakage?.broken(message) ?? message) { [world] answer in
                    tell("gateway", answer)
                    reply(world.breakage?.broken(answer) ?? answer)
                }
            } catch { world.stop("the simulated gateway does not know \(message.summary): \(error)") }
        }
    }

    private func handle(_ answer: GatewayAnswer, on exchange: Exchange) {
        switch exchange.fault {
        case .silence: break
        case .reorderedAnswer:
            let number = exchange.answer.id
            held[number] = (exchange, answer)
            world.scheduler.after(.seconds(2)) { [self] in
                if let late = held.removeValue(forKey: number) { send(late.answer, on: late.exchange) }
            }
        case .lostAnswer:
            world.scheduler.after(latency) { [self] in fail(exchange, .connectionClosed, "the connection was closed") }
        case .lateAnswer:
            let delay = Duration.milliseconds(1_000 + numbers.below(numbers.chance(4) ? 120_000 : 10_000))
            world.scheduler.after(delay) { [self] in send(answer, on: exchange) }
        default:
            let late = held.sorted { $0.key < $1.key }.map(\.value)
            held = [:]
            if world.breakage == .swappedAnswer, let first = late.first {
                send(first.answer, on: exchange)
                return send(answer, on: first.exchange)
            }
            send(answer, on: exchange)
            for (exchange, answer) in late { send(answer, on: exchange) }
        }
    }

    private func send(
        _ answer: GatewayAnswer, on exchange: Exchange, headers: [(name: String, value: String)] = []
    ) {
        let isCut = exchange.fault == .cutAnswer
        let length = isCut ? numbers.below(answer.body.count + 1) : answer.body.count
        let middle = numbers.below(length + 1)
        let server = exchange.target.isGateway ? world.gateway.serverHeader : "simulated"
        let fields = HTTPHeaders([(name: "Server", value: server)] + answer.headers + headers)
        world.scheduler.after(latency) { [self] in
            deliver(exchange) {
                $0.begin(status: answer.status, headers: fields)
                if middle > 0 { $0.append(Array(answer.body[..<middle])) }
            }
            world.scheduler.after(latency) { [self] in
                deliver(exchange) { if middle < length { $0.append(Array(answer.body[middle..<length])) } }
                guard !isCut || world.breakage == .cutDownload && !exchange.target.isGateway else {
                    return fail(exchange, .connectionClosed, "the connection was closed")
                }
                if answer.status == 401, isOpen(exchange), let credentials = exchange.credentials {
                    world.checks.logins.noteRefused(credentials, of: owner, at: world.scheduler.uptime)
                }
                if exchange.target.writesMark, answer.status == 201, isOpen(exchange) { world.operations.noteMark() }
                if isOpen(exchange), case .server(_, let request) = exchange.target, answer.status == 202 {
                    world.checks.edges.noteAccepted(request)
                }
                if isOpen(exchange) { world.checks.events.noteWritten(answer.written, sent: exchange.began) }
                if let reached = answer.reached, isOpen(exchange), let process = world.fleet.process(owner) {
                    world.noteFeed(until: reached, process)
                }
                finish(exchange) { $0.end() }
            }
        }
    }

    /// The gateway ends all connections.
    func closeAll() {
        for (_, exchange) in exchanges.sorted(by: { $0.key < $1.key }) {
            fail(exchange, .connectionClosed, "the connection was closed")
        }
    }

    // MARK: - Logins

    private func isLoggedIn(_ exchange: Exchange) -> Bool {
        exchange.credentials == nil
            || exchange.credentials == .basic(user: "bot", password: world.operations.passwords.gateway)
    }

    private func refuse(_ exchange: Exchange) {
        var answer = GatewayAnswer(status: 401, #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#)
        answer.summary = "wrong password"
        world.story.tell("gateway", "bot \(owner) \(exchange.target.plain)\(answer.plain)")
        guard let credentials = exchange.credentials else { return }
        // The bot has not sent a request twice that a proxy has repeated.
        let count = world.breakage == .repeatedLogin ? 3 : exchange.wasRefused ? 0 : 1
        exchange.wasRefused = true
        for _ in 0..<count {
            world.checking { try world.checks.logins.noteSent(credentials, by: owner, at: exchange.began) }
        }
        world.scheduler.after(latency) { [self] in
            send(answer, on: exchange, headers: [(name: "WWW-Authenticate", value: "Basic realm=\"gateway\"")])
        }
    }

    // MARK: - The way back

    /// Work that `body` causes belongs to the process. It does not happen if the process has ended.
    private func acting(_ body: () -> Void) {
        guard world.scheduler.isRunning(owner) else { return }
        world.scheduler.acting(as: owner, body)
    }

    private func deliver(_ exchange: Exchange, _ body: (CarriedAnswer) -> Void) {
        guard isOpen(exchange) else { return }
        acting { body(exchange.answer) }
        limitIdleTime(exchange)
    }

    private func finish(_ exchange: Exchange, _ body: (CarriedAnswer) -> Void) {
        guard isOpen(exchange) else { return }
        exchanges[exchange.answer.id] = nil
        acting { body(exchange.answer) }
    }

    private func fail(_ exchange: Exchange, _ code: HTTPTransportError.Code, _ message: String) {
        finish(exchange) { $0.fail(code, message) }
    }

    // MARK: - Time limits

    private func limit(_ exchange: Exchange, to deadline: Duration) {
        exchange.limits.exchange += 1
        let number = exchange.limits.exchange
        world.scheduler.after(deadline) { [self] in
            guard exchange.limits.exchange == number else { return }
            fail(exchange, .timedOut(.exchange), "the deadline has passed")
        }
    }

    private func limitIdleTime(_ exchange: Exchange) {
        guard let limit = exchange.request.idleTimeout else { return }
        exchange.limits.idle += 1
        let number = exchange.limits.idle
        world.scheduler.after(limit) { [self] in
            guard exchange.limits.idle == number else { return }
            fail(exchange, .timedOut(.idle), "no byte for \(limit)")
        }
    }
}

extension GatewayMessage {
    /// Nil if the request is not for the simulated gateway.
    fileprivate init?(_ request: HTTPRequest, from process: Int) {
        let base = World.gatewayBase
        guard request.url.hasPrefix(base) else { return nil }
        let parts = request.url.dropFirst(base.count).split(separator: "?", maxSplits: 1)
        let path = (parts.first.map(String.init) ?? "").percentDecoded
        let database = "/\(World.databaseName)/"
        method = request.method
        self.path = path.hasPrefix(database) ? String(path.dropFirst(database.count)) : path
        var query: [String: String] = [:]
        for item in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let pair = item.split(separator: "=", maxSplits: 1)
            query[String(pair[0])] = pair.dropFirst().first.map { String($0).percentDecoded } ?? ""
        }
        self.query = query
        if case .segments(let segments) = request.body { body = Array(segments.joined()) } else { body = [] }
        author = .bot(process)
        acceptsGzip = request.headers.contains { $0.name == "Accept-Encoding" && $0.value == "gzip" }
    }
}

extension String {
    fileprivate var percentDecoded: String {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
