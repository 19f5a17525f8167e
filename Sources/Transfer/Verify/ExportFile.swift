internal import Encodings
internal import GatewayClient
internal import LosslessJSON
package import Revisions

/// An existing export with its manifest, to be read.
package struct ExportFile: Sendable {
    struct Line: Sendable {
        /// From 1; counts documents, not line feeds.
        let number: Int
        /// The document, or why it is not JSON.
        let document: Result<JSONText, JSONError>
    }

    /// As given, links not resolved.
    package let path: String
    /// The recorded manifest; the file was not compared with it.
    package let manifest: ExportManifest

    /// - Throws: ``TransferError``: `.missing` if the file or its manifest does not exist; `.invalid` if the manifest
    ///   is not valid.
    package init(_ path: String) throws(TransferError) {
        _ = try OpenFile(reading: path)
        if ExportPlace.isManifest(path), !FileOperations.exists(ExportPlace.manifest(of: path)) {
            throw TransferError(.missing, "\(path) is a manifest; name its export instead")
        }
        self.path = path
        manifest = try ExportManifest.read(ExportPlace.manifest(of: path))
    }

    /// Whether only the holder of a key can read it.
    var isEncrypted: Bool { ExportEncryption.program(ofFileNamed: path) != nil }

    /// - Throws: ``TransferError``: `.invalid` if the file is encrypted.
    func requireReadable() throws(TransferError) {
        guard let remedy = ExportEncryption.remedy(for: path) else { return }
        throw TransferError(.invalid, "\(path) is encrypted; decrypt it first: \(remedy)")
    }

    /// Measurements of the whole file.
    struct FileMeasurements: Sendable, Equatable {
        var byteCount = 0
        var sha256 = ""
        var lines = 0
        /// What is missing at the end of a truncated file; nil if it is complete.
        var frameError: String?
    }

    /// Reads all documents, one at a time.
    ///
    /// - Throws: ``TransferError``, `CancellationError`, and what `body` throws.
    @discardableResult
    func readLines(_ body: (Line) async throws -> Void) async throws -> FileMeasurements {
        try requireReadable()
        let file = try OpenFile(reading: path)
        var digest = RunningDigest(.sha256)
        var lines = DocumentSplitter(isCompressed: manifest.options.isCompressed)
        var number = 0
        var waiting: [ArraySlice<UInt8>] = []
        func pass() async throws {
            for bytes in waiting {
                number += 1
                try await body(Line(number: number, document: Self.document(bytes)))
            }
            waiting = []
        }
        while true {
            try await Self.checkCancellation()
            let piece = try file.read(upTo: 256 << 10)
            guard !piece.isEmpty else { break }
            digest.update(piece)
            do { try lines.read(piece) { waiting.append($0) } } catch let error as TransferError {
                throw TransferError(error.code, "\(path): \(error)")
            }
            try await pass()
        }
        let error = try lines.finish { waiting.append($0) }
        try await pass()
        return FileMeasurements(byteCount: digest.byteCount, sha256: digest.hex, lines: number, frameError: error)
    }

    /// Measures an encrypted file, whose documents are unknown.
    ///
    /// - Throws: ``TransferError``, `CancellationError`.
    func measureEncrypted() async throws -> (byteCount: Int, sha256: String) {
        let file = try OpenFile(reading: path)
        var digest = RunningDigest(.sha256)
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty {
            try await Self.checkCancellation()
            digest.update(piece)
        }
        return (digest.byteCount, digest.hex)
    }

    /// Call this repeatedly while files are read, because reading blocks.
    ///
    /// - Throws: `CancellationError`.
    static func checkCancellation() async throws {
        // On a machine with one processor, the signal handler needs this thread.
        await Task.yield()
        try Task.checkCancellation()
    }

    private static func document(_ bytes: ArraySlice<UInt8>) -> Result<JSONText, JSONError> {
        do throws(JSONError) { return .success(try JSONText(Array(bytes))) } catch { return .failure(error) }
    }
}
