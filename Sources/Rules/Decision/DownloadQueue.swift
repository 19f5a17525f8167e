/// The downloads that the documents of a batch wait for.
///
/// The bytes that a batch holds are bounded: once it has downloaded so many, documents that need more are decided again
/// later. So each batch decides at least one document.
struct DownloadQueue {
    /// How many are under way at a time.
    private static let width = 2
    /// Bytes after which further documents wait.
    private static let bytesLimit = 16 << 20

    private var waiting: [(run: Int, request: DownloadRequest)] = []
    private var bytes = 0
    /// The runs that got a content: they get all that they need.
    private var served: Set<Int> = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ request: DownloadRequest, for run: Int) { waiting.append((run, request)) }

    /// Fetches what is waited for, each request once. Requests for one URL follow each other, so that a cache serves
    /// the later ones.
    mutating func answers(
        _ downloader: Downloader?
    ) async -> [(run: Int, request: DownloadRequest, answer: DownloadAnswer)] {
        let asked = waiting
        waiting = []
        guard let downloader else { return asked.map { ($0.run, $0.request, .notAsked) } }
        var answers: [DownloadRequest: DownloadAnswer] = [:]
        var rest = Self.byURL(asked.map(\.request))[...]
        while !rest.isEmpty {
            let taken = rest.prefix(Self.width)
            rest = rest.dropFirst(taken.count)
            // Those that hold contents already get what they need.
            let entitled = Set(asked.filter { served.contains($0.run) }.map(\.request))
            let left = Self.bytesLimit - bytes
            await withTaskGroup(of: [(DownloadRequest, DownloadAnswer)].self) { tasks in
                for requests in taken {
                    tasks.addTask { await Self.fetch(requests, entitled, left, downloader) }
                }
                for await found in tasks {
                    for (request, answer) in found { answers[request] = answer }
                }
            }
            for request in taken.joined() {
                guard case .content(let content, _)? = answers[request] else { continue }
                bytes += content.base64.count
                for (run, wanted) in asked where wanted == request { served.insert(run) }
            }
        }
        return asked.map { ($0.run, $0.request, answers[$0.request] ?? Self.noRoom) }
    }

    private static let noRoom = DownloadAnswer.later(reason: "the memory for downloads is in use", wait: .zero)

    /// Distinct requests in lists for one URL each, in the order in which they were first asked for.
    private static func byURL(_ requests: [DownloadRequest]) -> [[DownloadRequest]] {
        var seen: Set<DownloadRequest> = []
        var places: [String: Int] = [:]
        var lists: [[DownloadRequest]] = []
        for request in requests where seen.insert(request).inserted {
            if let place = places[request.url] {
                lists[place].append(request)
            } else {
                places[request.url] = lists.count
                lists.append([request])
            }
        }
        return lists
    }

    /// - Parameters:
    ///   - entitled: Requests that are made although there is no room.
    ///   - room: Bytes that may be held beside what is held already.
    private static func fetch(
        _ requests: [DownloadRequest], _ entitled: Set<DownloadRequest>, _ room: Int, _ downloader: Downloader
    ) async -> [(DownloadRequest, DownloadAnswer)] {
        var room = room
        var answers: [(DownloadRequest, DownloadAnswer)] = []
        for request in requests {
            guard room > 0 || entitled.contains(request) else {
                answers.append((request, noRoom))
                continue
            }
            let answer = await downloader(request)
            if case .content(let content, _) = answer { room -= content.base64.count }
            answers.append((request, answer))
        }
        return answers
    }
}
