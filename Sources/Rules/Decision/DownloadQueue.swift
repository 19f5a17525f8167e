/// The downloads that the documents of a batch wait for.
///
/// The bytes that a batch holds are bounded: once it has downloaded so many, documents that need more are decided again
/// later. So each batch decides at least one document. Nor does it wait for long: the other documents would wait, too.
struct DownloadQueue {
    /// How many URLs are asked for at a time.
    private static let width = 4
    /// Bytes after which further documents wait.
    private static let bytesLimit = 16 << 20
    /// How long a batch waits for downloads in all.
    private static let patience: Duration = .seconds(1)

    /// What a run needs.
    private struct Need {
        let run: Int
        let document: String
        let request: DownloadRequest
    }

    /// What several documents may need.
    private struct Wanted {
        let request: DownloadRequest
        var documents: [String]
    }

    private var waiting: [Need] = []
    private var bytes = 0
    /// The runs that got a content: they get all that they need.
    private var served: Set<Int> = []
    private var deadline: ContinuousClock.Instant?

    var isEmpty: Bool { waiting.isEmpty }

    /// - Parameter document: The run's, by its id.
    mutating func add(_ request: DownloadRequest, for run: Int, of document: String) {
        let need = Need(run: run, document: document, request: request)
        // The sooner a run has all that it needs, the sooner its contents can be dropped.
        if served.contains(run) { waiting.insert(need, at: 0) } else { waiting.append(need) }
    }

    /// Fetches the first of what is waited for, each request once. Requests for one URL follow each other, so that a
    /// cache serves the later ones.
    ///
    /// - Returns: At least one answer, unless the queue is empty.
    mutating func answers(
        _ downloader: Downloader?
    ) async -> [(run: Int, request: DownloadRequest, answer: DownloadAnswer)] {
        guard let downloader else {
            defer { waiting = [] }
            return waiting.map { ($0.run, $0.request, .notAsked) }
        }
        let deadline = self.deadline ?? .now + Self.patience
        self.deadline = deadline
        let taken = takeFirst()
        // Those that hold contents already get what they need.
        let entitled = Set(taken.filter { served.contains($0.run) }.map(\.request))
        let left = Self.bytesLimit - bytes
        var answers: [DownloadRequest: DownloadAnswer] = [:]
        await withTaskGroup(of: [(DownloadRequest, DownloadAnswer)].self) { tasks in
            for wanted in Self.byURL(taken) {
                tasks.addTask { await Self.fetch(wanted, entitled, left, by: deadline, downloader) }
            }
            for await found in tasks {
                for (request, answer) in found { answers[request] = answer }
            }
        }
        bytes += answers.values.reduce(0) { $0 + $1.byteCount }
        return taken.map { need in
            let answer = answers[need.request] ?? Self.noRoom
            if answer.byteCount > 0 { served.insert(need.run) }
            return (need.run, need.request, answer)
        }
    }

    private static let noRoom = DownloadAnswer.later(reason: "the memory for downloads is in use", wait: .zero)

    /// Takes out what is needed of the first URLs.
    private mutating func takeFirst() -> [Need] {
        var urls: Set<String> = []
        for need in waiting where urls.count < Self.width { urls.insert(need.request.url) }
        defer { waiting.removeAll { urls.contains($0.request.url) } }
        return waiting.filter { urls.contains($0.request.url) }
    }

    /// Distinct requests in lists for one URL each, in the order in which they were first asked for.
    private static func byURL(_ needs: [Need]) -> [[Wanted]] {
        var places: [DownloadRequest: Int] = [:]
        var wanted: [Wanted] = []
        for need in needs {
            if let place = places[need.request] {
                wanted[place].documents.append(need.document)
            } else {
                places[need.request] = wanted.count
                wanted.append(Wanted(request: need.request, documents: [need.document]))
            }
        }
        return Dictionary(grouping: wanted, by: \.request.url).map(\.value)
    }

    /// - Parameters:
    ///   - entitled: Requests that are made although there is no room.
    ///   - room: Bytes that may be held beside what is held already.
    private static func fetch(
        _ wanted: [Wanted], _ entitled: Set<DownloadRequest>, _ room: Int, by deadline: ContinuousClock.Instant,
        _ downloader: Downloader
    ) async -> [(DownloadRequest, DownloadAnswer)] {
        var room = room
        var answers: [(DownloadRequest, DownloadAnswer)] = []
        for wanted in wanted {
            guard room > 0 || entitled.contains(wanted.request) else {
                answers.append((wanted.request, noRoom))
                continue
            }
            let answer = await downloader.answer(wanted.request, wanted.documents, deadline)
            room -= answer.byteCount
            answers.append((wanted.request, answer))
        }
        return answers
    }
}

extension DownloadAnswer {
    /// What the content takes in memory; 0 if there is none.
    fileprivate var byteCount: Int { if case .content(let content, _) = self { content.base64.count } else { 0 } }
}
