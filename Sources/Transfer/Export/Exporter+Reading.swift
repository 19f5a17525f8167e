internal import DocumentFlow
internal import GatewayClient
internal import Logging

extension Exporter {
    /// Reads everything from the writer's position on.
    func read(into writer: ExportWriter, _ facts: DatabaseFacts) async throws {
        switch await writer.manifest.source {
        case .pages:
            if try await readPages(into: writer) { return }
            logger.notice("this user may not list the documents; reading the changes feed instead")
            await writer.switchToFeed()
            try await readFeed(into: writer)
        case .feed: try await readFeed(into: writer)
        case .revisions: try await readFeed(into: writer)
        }
    }

    /// Reads the next batch while the one before is being written.
    ///
    /// - Returns: False if this user may not list the documents.
    private func readPages(into writer: ExportWriter) async throws -> Bool {
        var last: DocumentID?
        if case .document(let id) = await writer.position { last = id }
        return try await withThrowingTaskGroup(of: Void.self) { writing in
            var list = DocumentListReader(
                DocumentPages(of: gateway, after: last, pageSize: settings.pageSize), contact.makeRetrier())
            while let batch = try await list.next() {
                try await writing.next()
                writing.addTask { try await writer.write(page: batch) }
            }
            try await writing.next()
            return !list.isForbidden
        }
    }

    /// Reads up to the newest sequence known at the start. A full export then reads once more what has changed
    /// meanwhile, because the feed leaves out a document that changes before its row is reached.
    private func readFeed(into writer: ExportWriter) async throws {
        var start = await writer.manifest.from ?? .start
        var isSecondReading = false
        if case .sequence(let sequence, let isSecond) = await writer.position {
            (start, isSecondReading) = (sequence, isSecond)
        }
        if !isSecondReading {
            let goal = await writer.manifest.to
            start = try await readFeed(from: start, to: goal, isSecondReading: false, into: writer)
        }
        guard settings.since == nil else { return }
        let info = try await contact.again { try await gateway.databaseInfo() }
        _ = try await readFeed(from: start, to: info.newestSequence, isSecondReading: true, into: writer)
    }

    /// - Returns: The sequence reached.
    private func readFeed(
        from start: SequenceID, to goal: SequenceID?, isSecondReading: Bool, into writer: ExportWriter
    ) async throws -> SequenceID {
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: goal), retries: settings.retries, logger: logger,
            noteRetry: { [report] in report.count { $0.retries += 1 } })
        reader.channels = settings.channels
        reader.logsCaughtUp = false
        reader.listsLeaves = settings.includesRevisions
        var end = start
        try await reader.read(from: start) { rows, reached in
            if settings.includesRevisions {
                try await writer.write(leavesOf: rows, reached: reached, isSecondReading: isSecondReading)
            } else {
                try await writer.write(changes: rows, reached: reached, isSecondReading: isSecondReading)
            }
            end = reached
        }
        return end
    }
}
