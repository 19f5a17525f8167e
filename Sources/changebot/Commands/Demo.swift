internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import EmbeddedGateway
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules
internal import ServiceLifecycle
internal import UnixSignals

/// The demonstration: starts the gateway, loads the shopping list, starts the bot, adds tasks, waits for the pictures.
struct Demo {
    /// The tasks to add, each with the picture that it should get.
    private static let tasks = [
        (id: DocumentID("task.apple"), task: "Apple", picture: "apple.png"),
        (id: DocumentID("task.coffee"), task: "coffee", picture: "coffee.png"),
        (id: DocumentID("task.potatoes"), task: "POTATOES", picture: "potatoes.png"),
    ]
    private static let timeout: Duration = .seconds(30)

    let logger: Logger
    /// Whether to print only the lines about pictures.
    let isQuiet: Bool

    /// - Throws: ``CommandError`` with 1 if a picture is missing, differs from the asset, or a signal stopped the
    ///   demonstration.
    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await perform() }
            tasks.addTask {
                for await _ in signals { throw CommandError(.incomplete, "stopped before all pictures were attached") }
            }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }

    private func perform() async throws {
        let ruleSet = try DemoFiles.ruleSet()
        let embedded = EmbeddedGateway(EmbeddedGateway.Configuration(storage: .memory, logger: logger))
        try await embedded.whileServing { address in try await perform(ruleSet, at: try GatewayURL(address.url)) }
    }

    private func perform(_ ruleSet: RuleSet, at url: GatewayURL) async throws {
        show("gateway   \(url), embedded, in memory")
        let phone = Gateway(url)
        let groceries = try await loadGroceries(into: phone)
        show("groceries \(groceries.counted("document")): a list, its tasks, its users, a moderator")

        let place = StateLocation(choice: .embedded(file: nil), directory: "", "demo")
        defer { place.discardIfTemporary() }
        let state = try place.statePlace(ruleSetHash: ruleSet.hash, for: .run)
        let gateway = Gateway(url)
        let report = RunReport()
        var settings = BotSettings()
        settings.delivery.retries.isDaemon = true
        let group = ServiceGroup(
            services: [
                Bot(
                    gateway: gateway, ruleSet: ruleSet, state: state, settings: settings, report: report,
                    logger: logger)
            ], logger: logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                show(
                    "bot       follows the feed with \(ruleSet.count.counted("rule")): \(ruleSet.names.joined(separator: ", "))"
                )
                try await play(phone)
                await group.triggerGracefulShutdown()
            }
            tasks.addTask {
                try await Task.sleep(for: Self.timeout)
                throw CommandError(.incomplete, "no pictures after \(Self.timeout)")
            }
            _ = try await tasks.next()
            _ = try await tasks.next()
            tasks.cancelAll()
        }
        await showEnd(report)
        await gateway.shutdown()
        await phone.shutdown()
    }

    private func loadGroceries(into gateway: Gateway) async throws -> Int {
        let documents = try DemoFiles.groceries().map { line in
            BulkDocument(id: DocumentID(line.root["_id"]?.string ?? ""), segments: [line.bytes])
        }
        for (document, outcome) in zip(documents, try await gateway.bulkDocs(documents)) {
            guard case .written = outcome else {
                throw CommandError(
                    .invalidData, "the gateway did not accept the demo's document \(document.id): \(outcome)")
            }
        }
        return documents.count
    }

    /// Adds tasks like a phone would, waits for each picture and compares it with the asset.
    private func play(_ phone: Gateway) async throws {
        for item in Self.tasks {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("type", string: "task")
                writer.member("task", string: item.task)
                writer.member("complete", bool: false)
                writer.member("createdAt", string: Timestamp.now)
                writer.name("taskList")
                writer.object { writer in
                    writer.member("id", string: "amy.groceries")
                    writer.member("owner", string: "amy")
                }
            }
            try await phone.put(item.id, body: writer.bytes)
            show("phone     adds a task \"\(item.task)\"")
        }
        try await waitForPictures(phone)
        for item in Self.tasks {
            let asset = DemoFiles.asset(item.picture)
            guard let picture = try await phone.attachment("image", of: item.id), picture == asset else {
                throw CommandError(.incomplete, "\(item.id): the picture is not \(item.picture)")
            }
            Console.print("attached \(item.id) image \(Digest.sha256.hex(picture))")
        }
    }

    /// Follows the feed, like any client, until all tasks have a picture.
    private func waitForPictures(_ phone: Gateway) async throws {
        var missing = Set(Self.tasks.map(\.id))
        var since = SequenceID.start
        while !missing.isEmpty {
            let request = ChangesRequest(since: since, feed: .longpoll(timeout: Self.timeout))
            var answer = try await phone.changes(request)
            while let batch = try await answer.next() {
                for change in batch where change.document?["_attachments"]?["image"] != nil {
                    missing.remove(change.id)
                }
            }
            since = answer.lastSequence ?? since
        }
    }

    private func show(_ line: String) {
        if !isQuiet { Console.print(line) }
    }

    private func showEnd(_ report: RunReport) async {
        let counters = await report.counters()
        show(
            "bot       looked at \(counters.changes.counted("change")), \(counters.matched) matched a rule, "
                + "wrote \(counters.written.counted("document")), left the others unchanged")
        let next = """

            Next, in the folder of the project:
                  serve a gateway          changebot gateway --listen 127.0.0.1:4985 --database todo --data todo.sqlite
                  let the bot follow it    changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml
                  add a task               curl -X PUT http://127.0.0.1:4985/todo/t1 -H 'Content-Type: application/json' -d '{"type":"task","task":"apple"}'
                  look at it               curl http://127.0.0.1:4985/todo/t1

            The same with users and a sync function; the bot is a moderator, not an administrator:
                  serve a gateway          changebot gateway --listen 127.0.0.1:4984 --config assets/todo-gateway.conf
                  make a list as Amy       curl -u amy:amy-secret -X PUT http://127.0.0.1:4984/todo/amy.food -H 'Content-Type: application/json' -d '{"type":"task-list","name":"Food","owner":"amy"}'
                  let the bot follow it    CHANGEBOT_USER=bot CHANGEBOT_PASSWORD=bot-secret changebot run --gateway http://127.0.0.1:4984/todo --rules rules/attach-images.yaml
                  add a task as Amy        curl -u amy:amy-secret -X PUT http://127.0.0.1:4984/todo/t1 -H 'Content-Type: application/json' -d '{"type":"task","task":"apple","complete":false,"taskList":{"id":"amy.food","owner":"amy"}}'
            """
        for line in next.visibleLines { show(line.text) }
    }
}
