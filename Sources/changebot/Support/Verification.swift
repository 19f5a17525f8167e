internal import Locking
internal import ServiceLifecycle
internal import Transfer

/// Compares an export with its manifest, then with a gateway. A signal stops either step.
final class Verification: Service {
    struct Result {
        /// Nil if the comparison with the manifest was not completed.
        var parts: VerifiedParts?
        /// How many findings are about the export itself.
        var damages = 0
        var isStopped = false
    }

    private let verifier: ExportVerifier
    private let findings: PrintedFindings
    private let compare: @Sendable () async throws -> Void
    private let locked = Locked(Result())

    var result: Result { locked.withLock { $0 } }

    init(
        verifier: ExportVerifier, findings: PrintedFindings, compare: @escaping @Sendable () async throws -> Void
    ) {
        self.verifier = verifier
        self.findings = findings
        self.compare = compare
    }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                let parts = try await self.verifier.verify(self.findings.print)
                self.locked.withLock { ($0.parts, $0.damages) = (parts, self.findings.count) }
                try await self.compare()
            }
        } catch is CancellationError {
            locked.withLock { $0.isStopped = true }
        }
    }
}

/// Prints findings up to a limit, and counts all of them.
final class PrintedFindings: Sendable {
    private let limit: Int
    private let locked = Locked<(all: Int, blobs: Int, firstBlob: VerificationFinding?)>((0, 0, nil))

    init(limit: Int) { self.limit = limit }

    var count: Int { locked.withLock(\.all) }

    /// How many are about blobs of Couchbase Lite.
    var blobCount: Int { locked.withLock(\.blobs) }

    /// The first one about a blob; nil if there is none.
    var firstBlob: VerificationFinding? { locked.withLock(\.firstBlob) }

    /// How many were not printed.
    var unprinted: Int { max(0, count - limit) }

    func print(_ finding: VerificationFinding) throws {
        let number = locked.withLock { found in
            found.all += 1
            if finding.concernsBlob {
                found.blobs += 1
                found.firstBlob = found.firstBlob ?? finding
            }
            return found.all
        }
        if number <= limit { try Console.write(finding.json) }
    }
}
