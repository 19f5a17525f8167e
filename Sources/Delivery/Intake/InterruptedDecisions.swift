package import BotState
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import Locking

/// Knows the revisions during whose decision the process crashed. A document that keeps crashing the process must not
/// block the documents behind it.
///
/// Each deciding task has a slot in a small memory-mapped file next to the state, and writes there which revision it is
/// working on, at the cost of copying the id. The next process reads what a crashed one left. A kill at that moment by
/// chance counts, too, but three for the same revision are no coincidence.
package final class InterruptedDecisions: Sendable {
    /// After this many crashes, a revision is no longer decided.
    static let limit = 3

    static let reason =
        "the process died \(limit) times while it processed this document (usually out of memory); the document is "
        + "processed again when it changes"

    private struct Key: Hashable, Sendable {
        let id: DocumentID
        let revision: String
    }

    private let excluded: Set<Key>
    private let suspects: Set<DocumentID>
    private let file: DecisionNoteFile?

    /// For a run that records nothing.
    init() {
        excluded = []
        suspects = []
        file = nil
    }

    /// Reads the notes of the previous process, then starts with an empty file.
    ///
    /// - Throws: ``StateError``.
    init(ledger: Ledger, path: String) async throws(StateError) {
        let (file, left) = DecisionNoteFile.claim(path)
        let noted = try await ledger.noteInterruptions(left)
        suspects = Set(noted.map(\.id))
        excluded = Set(
            noted.filter { $0.crashCount >= Self.limit }.map { Key(id: $0.id, revision: $0.revision.text) })
        self.file = file
    }

    /// Whether a revision must not be decided. The arguments are evaluated only if there is any such revision.
    func isExcluded(_ id: @autoclosure () -> DocumentID, _ revision: @autoclosure () -> RevisionID?) -> Bool {
        guard !excluded.isEmpty else { return false }
        return excluded.contains(Key(id: id(), revision: revision()?.text ?? ""))
    }

    /// Whether the process has crashed during the decision of a revision of this document.
    func isSuspect(_ id: DocumentID) -> Bool { !suspects.isEmpty && suspects.contains(id) }

    /// The slot of one task.
    ///
    /// - Parameter number: From 0 to ``DecisionNoteFile/slots`` - 1.
    func makeNote(_ number: Int) -> DecisionNote { DecisionNote(file: file, slot: number) }

    /// The run ended normally: deletes the file.
    func close() { file?.remove() }
}

/// Records which document one task is deciding.
struct DecisionNote: Sendable {
    fileprivate let file: DecisionNoteFile?
    fileprivate let slot: Int

    func begin(_ id: DocumentID, _ revision: RevisionID?) {
        begin(id: id.text.utf8, revision: (revision?.text ?? "").utf8)
    }

    /// The same with the UTF-8 of both.
    func begin(id: some Collection<UInt8>, revision: some Collection<UInt8>) {
        file?.write(id: id, revision: revision, to: slot)
    }

    func end() { file?.clear(slot) }
}

/// A file of fixed slots that survives the process.
final class DecisionNoteFile: @unchecked Sendable {
    static let slots = 16
    private static let slotSize = 4096
    private static var size: Int { slots * slotSize }
    /// Bytes of the length before the text.
    private static let headSize = 4

    /// The maximum number of processes of a fleet that may keep their notes in one folder.
    private static let processes = 16

    private let path: String
    private let descriptor: Int32
    private let memory: UnsafeMutableRawPointer

    /// Takes a file that no running process uses, and reads the notes of crashed processes from this file and others.
    ///
    /// Processes of one fleet may share a folder: the second one's file is `PATH-2`.
    ///
    /// - Returns: No file if none can be created; then nothing is recorded.
    static func claim(_ path: String) -> (file: DecisionNoteFile?, left: [(id: DocumentID, revision: RevisionID)]) {
        var claimed: DecisionNoteFile?
        var left: [(id: DocumentID, revision: RevisionID)] = []
        for number in 1...processes {
            let path = number == 1 ? path : "\(path)-\(number)"
            if claimed != nil, access(path, F_OK) != 0 { continue }
            guard let descriptor = lock(path) else { continue }
            left += read(descriptor)
            if claimed == nil, let file = DecisionNoteFile(path, descriptor) {
                claimed = file
            } else {
                unlink(path)
                close(descriptor)
            }
        }
        return (claimed, left)
    }

    /// Nil if a running process uses it, or if it can't be created.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// - Parameter descriptor: The descriptor of the locked file.
    private init?(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
        // Mapped memory must not extend past the end of the file. The old content has been read.
        guard ftruncate(descriptor, 0) == 0, posix_fallocate(descriptor, 0, Self.size) == 0,
            let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { return nil }
        self.memory = memory
    }

    deinit {
        munmap(memory, Self.size)
        close(descriptor)
    }

    func remove() { unlink(path) }

    /// `LENGTH REVISION NUL ID`. The length is written last, so an incomplete note does not count.
    func write(id: some Collection<UInt8>, revision: some Collection<UInt8>, to slot: Int) {
        let count = revision.count + 1 + id.count
        guard slot < Self.slots, count <= Self.slotSize - Self.headSize else { return }
        clear(slot)
        let start = memory + slot * Self.slotSize
        let text = UnsafeMutableRawBufferPointer(start: start + Self.headSize, count: count)
        text.copyBytes(from: revision)
        text[revision.count] = 0
        UnsafeMutableRawBufferPointer(rebasing: text[(revision.count + 1)...]).copyBytes(from: id)
        start.storeBytes(of: UInt32(count), as: UInt32.self)
    }

    func clear(_ slot: Int) {
        guard slot < Self.slots else { return }
        (memory + slot * Self.slotSize).storeBytes(of: UInt32(0), as: UInt32.self)
    }

    /// The notes of a crashed process.
    private static func read(_ descriptor: Int32) -> [(id: DocumentID, revision: RevisionID)] {
        var bytes = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &bytes, size, 0) == size else { return [] }
        return (0..<slots).compactMap { slot in
            let start = slot * slotSize
            let count = (0..<headSize).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
            guard count > 0, count <= slotSize - headSize else { return nil }
            let text = bytes[start + headSize..<start + headSize + count]
            guard let end = text.firstIndex(of: 0) else { return nil }
            return (
                DocumentID(String(decoding: text[(end + 1)...], as: UTF8.self)),
                RevisionID(String(decoding: text[..<end], as: UTF8.self))
            )
        }
    }
}

extension Ledger {
    /// The decisions during which earlier runs crashed, if this run holds the lock. Other processes record nothing.
    package func interruptedDecisions() async throws(StateError) -> InterruptedDecisions {
        guard access == .exclusive else { return InterruptedDecisions() }
        return try await InterruptedDecisions(ledger: self, path: decisionNotes)
    }
}
