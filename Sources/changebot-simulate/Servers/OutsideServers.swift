internal import HTTPTransport
internal import TestKit

/// A simulated server that rules contact, other than the gateway.
protocol OutsideServer: AnyObject {
    /// Scheme and host, without a slash at the end.
    var origin: String { get }
    func answer(_ request: OutsideRequest) -> GatewayAnswer
}

/// A request as such a server gets it.
struct OutsideRequest {
    let method: String
    /// Path and query; begins with `/`.
    let path: String
    /// The names in lower case.
    var headers: [String: String]
    let body: [UInt8]

    /// The number of the process that sent it.
    let process: Int

    /// For the story.
    let summary: String

    init(_ request: HTTPRequest, to server: any OutsideServer, from process: Int) {
        self.process = process
        method = request.method
        path = String(request.url.dropFirst(server.origin.count))
        headers = Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        if case .segments(let segments) = request.body { body = Array(segments.joined()) } else { body = [] }
        summary = "sends \(request.method) \(request.url)"
    }
}

/// The simulated servers that rules contact, and which of them are unreachable.
final class OutsideServers {
    let pictures: PictureServer
    let receiver = EventReceiver()
    private let all: [any OutsideServer]
    private var away: Set<String> = []
    private var numbers: SplitMix64

    init(seed: UInt64) {
        numbers = SplitMix64(seed: seed)
        pictures = PictureServer(seed: numbers.next())
        all = [pictures, receiver]
    }

    /// The server of a URL; nil if there is none.
    func server(of url: String) -> (any OutsideServer)? { all.first { url.hasPrefix($0.origin + "/") } }

    func isAway(_ server: any OutsideServer) -> Bool { away.contains(server.origin) }

    /// All are reachable.
    func comeBack() { away = [] }

    /// One server goes away, and comes back a minute later at most.
    func planOutage(_ world: World) {
        let server = numbers.pick(all)
        let length = Duration.milliseconds(numbers.below(60_000))
        world.scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
            guard world.isActive else { return }
            world.faults.note(.serverOutage)
            world.story.tell("world", "\(server.origin) goes away")
            away.insert(server.origin)
            world.scheduler.after(length) { [self] in
                world.story.tell("world", "\(server.origin) is back")
                away.remove(server.origin)
            }
        }
    }
}
