package import GatewayClient
package import Logging

/// Reads the live documents of a keyspace page by page. After a temporary failure it continues after the last document.
package struct DocumentListReader {
    /// The message of jobs that read the feed instead if ``isForbidden`` is set.
    package static let readsFeedInstead: Logger.Message =
        "this user may not list the documents; reading the changes feed instead"

    private var pages: DocumentPages
    private var retrier: Retrier
    /// Whether the list was refused because this user may not read it.
    package private(set) var isForbidden = false

    /// - Parameter retrier: Waits between attempts; its policy decides when to give up.
    package init(_ pages: DocumentPages, _ retrier: Retrier) {
        self.pages = pages
        self.retrier = retrier
    }

    /// The next documents. Nil at the end, and if ``isForbidden`` is set.
    ///
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package mutating func next() async throws -> DocumentBatch? {
        while true {
            do throws(GatewayError) {
                let batch = try await pages.next()
                retrier.succeed()
                return batch
            } catch {
                if error.code == .notOffered, pages.lastID == nil {
                    isForbidden = true
                    return nil
                }
                try await retrier.wait(
                    after: error, "reading the documents was interrupted; continuing after the last one")
            }
        }
    }
}
