/// The pending downloads of a batch's documents.
///
/// Memory and time are bounded. Once a batch has downloaded up to its limit, documents that need more are decided
/// later; each batch decides at least one document. The waiting time is short because the other documents also wait.
struct DownloadQueue {
    /// The maximum number of concurrent URLs.
    private static let width = 4
    /// The number of bytes after which further documents are deferred.
    private static let bytesLimit = 16 << 20
    /// The total time that a batch waits for downloads.
    private static let waitLimit: Duration = .seconds(1)

    /// A download that a run needs.
    private struct Need {
        let run: Int
        let document: String
        let request: DownloadRequest
    }

    /// A request that several documents may need.
    private struct Wanted {
        let request: DownloadRequest
        var documents: [String]
    }

    private var waiting: [Need] = []
    private var bytes = 0
    /// The runs that already got a content: their remaining requests are always made.
    private var served: Set<Int> = []
    private var deadline: ContinuousClock.Instant?

    var isEmpty: Bool { waiting.isEmpty }

    /// - Parameter document: The id of the run's document.
    mutating func add(_ request: DownloadRequest, for run: Int, of document: String) {
        let need = Need(run: run, document: document, request: request)
        // A run that is complete sooner frees its contents sooner.
        if served.contains(run) { waiting.insert(need, at: 0) } else { waiting.append(need) }
    }

    /// Fetches the first pending requests, each once. Requests for one URL run in sequence, so that a cache can answer
    /// the later ones.
    ///
    /// - Returns: At least one answer, unless the queue is empty.
    mutating func answers(
        _ downloader: Downloader?
    ) async -> [(run: Int, request: DownloadRequest, answer: DownloadAnswer)] {
        guard let downloader else {
            defer { waiting = [] }
            return waiting.map { ($0.run, $0.request, .disabled) }
        }
        let deadline = self.deadline ?? .now + Self.waitLimit
        self.deadline = deadline
        let taken = takeFirst()
        // Runs that already hold contents get the rest.
        let guaranteedRequests = Set(taken.filter { served.contains($0.run) }.map(\.request))
        let left = Self.bytesLimit - bytes
        var answers: [DownloadRequest: DownloadAnswer] = [:]
        await withTaskGroup(of: [(DownloadRequest, DownloadAnswer)].self) { tasks in
            for wanted in Self.byURL(taken) {
                tasks.addTask { await Self.fetch(wanted, guaranteedRequests, left, by: deadline, downloader) }
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

    /// Removes the needs for the first URLs.
    private mutating func takeFirst() -> [Need] {
        var urls: Set<String> = []
        for need in waiting where urls.count < Self.width { urls.insert(need.request.url) }
        defer { waiting.removeAll { urls.contains($0.request.url) } }
        return waiting.filter { urls.contains($0.request.url) }
    }

    /// Distinct requests, grouped by URL, in the order in which they were first requested.
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
    ///   - guaranteedRequests: Requests that are made even without room.
    ///   - room: The bytes that may be added to what is already in memory.
    private static func fetch(
        _ wanted: [Wanted], _ guaranteedRequests: Set<DownloadRequest>, _ room: Int,
        by deadline: ContinuousClock.Instant,
        _ downloader: Downloader
    ) async -> [(DownloadRequest, DownloadAnswer)] {
        var room = room
        var answers: [(DownloadRequest, DownloadAnswer)] = []
        for wanted in wanted {
            guard room > 0 || guaranteedRequests.contains(wanted.request) else {
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
    /// The memory size of the content in bytes. 0 without content.
    fileprivate var byteCount: Int { if case .content(let content, _) = self { content.base64.count } else { 0 } }
}
