internal import Compression
internal import Dispatch
internal import Encodings
internal import Locking
internal import Revisions

/// Writes the bytes of an export: compresses them if requested, counts and hashes them. A separate thread does that
/// while the next documents are read.
///
/// A file can be resumed from a save point: its bytes up to there are on disk and their digest is known.
final class ExportOutput {
    struct SavePoint: Sendable, Equatable {
        var byteCount = 0
        /// Digest of the bytes so far, in lowercase hexadecimal; empty if nothing was saved.
        var sha256 = ""
    }

    /// Bytes per write: large enough to be efficient, small enough not to delay.
    static let pieceSize = 256 << 10
    /// The maximum number of bytes that the thread holds, including those that it is writing. A single larger piece is
    /// accepted: a long document is one piece. A higher limit only costs memory.
    private static let maxUnwrittenBytes = 3 * pieceSize

    private struct State: Sendable {
        /// Pieces that the thread has not taken yet.
        var pieces: [[UInt8]] = []
        /// In bytes.
        var unwritten = 0
        /// Empty buffers for reuse, except those that a long document made large.
        var spare: [[UInt8]] = []
        /// Why nothing more can be written.
        var failure: TransferError?
        var isAbandoned = false
        /// Bytes in the file.
        var byteCount = 0
    }

    private let queue = DispatchQueue(label: "changebot.output")
    private let state = Monitor(State())
    private let file: WrittenFile
    private let isCompressed: Bool
    private var piece: [UInt8] = []
    /// Bytes passed to the thread, if they are not compressed.
    private var plainCount = 0

    /// - Parameter isFile: Whether the file can be truncated, synced and read.
    init(_ file: OpenFile, isFile: Bool, isCompressed: Bool) {
        self.file = WrittenFile(file, isFile: isFile, isCompressed: isCompressed)
        self.isCompressed = isCompressed
        piece.reserveCapacity(Self.pieceSize)
    }

    /// Writes through another program.
    init(_ filter: OutputFilter, isCompressed: Bool) {
        file = WrittenFile(filter.input, isFile: false, isCompressed: isCompressed, filter: filter)
        self.isCompressed = isCompressed
        piece.reserveCapacity(Self.pieceSize)
    }

    /// Waits until the thread no longer uses the file, which may be locked. Queued pieces are dropped.
    deinit {
        state.with { $0.isAbandoned = true }
        queue.sync {}
    }

    /// The length of the output. If it is compressed, the length of the file so far.
    var byteCount: Int { isCompressed ? state.quietly(\.byteCount) : plainCount + piece.count }

    /// - Throws: ``TransferError``: `.cannotWrite`, also for bytes of earlier calls that the thread could not write.
    func write(_ bytes: some Collection<UInt8>) throws(TransferError) {
        piece.append(contentsOf: bytes)
        if piece.count >= Self.pieceSize { try flush() }
    }

    /// Passes the piece to the thread. Waits while too many bytes are queued.
    private func flush() throws(TransferError) {
        guard !piece.isEmpty else { return }
        plainCount += piece.count
        let failure = state.block(
            until: { [count = piece.count] state in
                state.unwritten == 0 || state.unwritten + count <= Self.maxUnwrittenBytes || state.failure != nil
            },
            then: { state -> TransferError? in
                if state.failure != nil { return state.failure }
                state.unwritten += piece.count
                state.pieces.append(piece)
                piece = state.spare.popLast() ?? []
                return nil
            })
        if let failure { throw failure }
        queue.async { [state, file] in Self.writeNext(of: state, to: file) }
    }

    private static func writeNext(of state: Monitor<State>, to file: WrittenFile) {
        var piece = state.quietly { $0.pieces.removeFirst() }
        var failure: TransferError?
        if state.quietly({ !$0.isAbandoned && $0.failure == nil }) {
            do throws(TransferError) { try file.write(piece) } catch { failure = error }
        }
        let count = piece.count
        piece.removeAll(keepingCapacity: true)
        state.with { state in
            state.unwritten -= count
            if piece.capacity <= maxUnwrittenBytes { state.spare.append(piece) }
            state.byteCount = file.byteCount
            state.failure = state.failure ?? failure
        }
    }

    /// Runs `body` on the thread, once everything written so far is in the file or queued for compression.
    private func afterPendingWrites<Result>(_ body: (WrittenFile) throws -> Result) throws -> Result {
        try flush()
        return try queue.sync {
            if let failure = state.quietly(\.failure) { throw failure }
            defer { state.quietly { $0.byteCount = file.byteCount } }
            return try body(file)
        }
    }

    /// Flushes everything and ends the gzip member, so that the output can be read up to here.
    ///
    /// - Returns: The save point; if this is a file, it is on disk.
    func save() throws -> SavePoint { try afterPendingWrites { try $0.save() } }

    /// Like ``save()``, for the end. An empty compressed output still gets one gzip member, because an empty file is
    /// not valid gzip.
    func finish() throws -> SavePoint { try afterPendingWrites { try $0.finish() } }

    /// Truncates the file to a save point and discards the rest. Call only before anything is written.
    ///
    /// - Parameter body: Gets the bytes before the save point, in pieces.
    /// - Returns: False if the file does not have those bytes; it is then emptied.
    func truncate(to point: SavePoint, inspecting body: ([UInt8]) throws -> Void = { _ in }) throws -> Bool {
        let isWhole = try afterPendingWrites { try $0.truncate(to: point, inspecting: body) }
        plainCount = isWhole ? point.byteCount : 0
        return isWhole
    }

    /// Reads everything that was saved, from the beginning. Later writes are appended.
    func readAll(_ body: ([UInt8]) throws -> Void) throws { try afterPendingWrites { try $0.readAll(body) } }
}

/// The file behind an ``ExportOutput``. Used by one thread at a time.
private final class WrittenFile: @unchecked Sendable {
    /// The export must keep up with the gateway. For tasks with short notes (58 MB for 100,000), level 2 takes 0.2 to
    /// 0.7 s, and level 1 is no faster. Level 3 takes up to 40 % longer for 7 % fewer bytes; level 6 takes three times
    /// as long for 19 % fewer.
    private static let level: Int32 = 2

    private let file: OpenFile
    private let isFile: Bool
    private var compressor: GzipWriter?
    /// Whether a gzip member is unfinished.
    private var hasOpenMember = false
    private var digest = RunningDigest(.sha256)
    /// Compressed bytes for the next write.
    private var compressed: [UInt8] = []
    /// The program that reads what is written; nil if there is none.
    private let filter: OutputFilter?

    init(_ file: OpenFile, isFile: Bool, isCompressed: Bool, filter: OutputFilter? = nil) {
        self.file = file
        self.filter = filter
        self.isFile = isFile
        compressor = isCompressed ? GzipWriter(level: Self.level) : nil
    }

    var byteCount: Int { digest.byteCount }

    func write(_ bytes: [UInt8]) throws(TransferError) {
        guard compressor != nil else { return try append(bytes) }
        compressor?.write(bytes, to: &compressed)
        hasOpenMember = true
        if compressed.count >= ExportOutput.pieceSize { try appendCompressed() }
    }

    private func append(_ bytes: [UInt8]) throws(TransferError) {
        do throws(TransferError) { try file.write(bytes) } catch {
            // The program knows why it stopped reading.
            try filter?.check()
            throw error
        }
        digest.update(bytes)
    }

    private func appendCompressed() throws(TransferError) {
        try append(compressed)
        compressed.removeAll(keepingCapacity: true)
    }

    func save() throws(TransferError) -> ExportOutput.SavePoint {
        if hasOpenMember {
            compressor?.finish(to: &compressed)
            hasOpenMember = false
        }
        try appendCompressed()
        if isFile { try file.sync() }
        return ExportOutput.SavePoint(byteCount: digest.byteCount, sha256: digest.hex)
    }

    func finish() throws(TransferError) -> ExportOutput.SavePoint {
        if byteCount == 0, compressor != nil { hasOpenMember = true }
        let point = try save()
        try filter?.finish()
        return point
    }

    func truncate(to point: ExportOutput.SavePoint, inspecting body: ([UInt8]) throws -> Void) throws -> Bool {
        compressed.removeAll()
        digest = RunningDigest(.sha256)
        try file.seek(to: 0)
        while digest.byteCount < point.byteCount {
            let piece = try file.read(upTo: min(ExportOutput.pieceSize, point.byteCount - digest.byteCount))
            guard !piece.isEmpty else { break }
            digest.update(piece)
            try body(piece)
        }
        guard digest.byteCount == point.byteCount, point.byteCount == 0 || digest.hex == point.sha256 else {
            digest = RunningDigest(.sha256)
            try file.truncate(to: 0)
            return false
        }
        try file.truncate(to: point.byteCount)
        return true
    }

    func readAll(_ body: ([UInt8]) throws -> Void) throws {
        try file.seek(to: 0)
        var left = digest.byteCount
        while left > 0 {
            let piece = try file.read(upTo: min(ExportOutput.pieceSize, left))
            guard !piece.isEmpty else { return }
            left -= piece.count
            try body(piece)
        }
    }
}
