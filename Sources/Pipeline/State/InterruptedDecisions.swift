internal import Foundation
internal import GatewayClient
internal import Locking

/// Knows the documents over whose decisions the process died, whatever killed it: a document that does so again and
/// again must not keep the ones behind it from being decided.
///
/// Each task that decides has a slot in a small file beside the state, mapped into memory: it writes there which revision
/// it is looking at, which costs a copy of its id. What a process leaves there when it dies is found by the next one. An
/// ordinary kill at that very moment counts, too; three times over the same revision is no coincidence.
package final class InterruptedDecisions: Sendable {
    /// Deaths over one revision after which it is not decided any more.
    static let limit = 3

    static let reason =
        "the process ended \(limit) times while it decided this document (out of memory, most often); it is decided "
        + "again when it changes"

    private struct Key: Hashable, Sendable {
        let id: DocumentID
        let revision: String
    }

    private let poisonous: Set<Key>
    private let suspects: Set<DocumentID>
    private let file: DecisionNoteFile?

    /// For a run that keeps no notes.
    package init() {
        poisonous = []
        suspects = []
        file = nil
    }

    /// Takes over what the process before left, and begins anew.
    ///
    /// - Throws: ``StateError``.
    init(ledger: Ledger, path: String) async throws(StateError) {
        let left = DecisionNoteFile.read(path)
        let noted = try await ledger.noteInterruptions(left)
        suspects = Set(noted.map(\.id))
        poisonous = Set(
            noted.filter { $0.deaths >= Self.limit }.map { Key(id: $0.id, revision: $0.revision.text) })
        file = DecisionNoteFile(path)
    }

    /// Whether a revision must not be decided. Names of documents are made only if there are any such.
    func isPoisonous(_ id: @autoclosure () -> DocumentID, _ revision: @autoclosure () -> RevisionID?) -> Bool {
        guard !poisonous.isEmpty else { return false }
        return poisonous.contains(Key(id: id(), revision: revision()?.text ?? ""))
    }

    /// Whether the process has died over a revision of this document.
    func isSuspect(_ id: DocumentID) -> Bool { !suspects.isEmpty && suspects.contains(id) }

    /// A note for the task with this number, from 0 to ``DecisionNoteFile/slots`` - 1.
    func makeNote(_ number: Int) -> DecisionNote { DecisionNote(file: file, slot: number) }

    /// The run came to its end in good order.
    package func close() { file?.remove() }
}

/// Says which document one task is deciding.
package struct DecisionNote: Sendable {
    fileprivate let file: DecisionNoteFile?
    fileprivate let slot: Int

    func begin(_ id: DocumentID, _ revision: RevisionID?) { file?.write(id, revision, to: slot) }

    func end() { file?.clear(slot) }
}

/// A file of fixed slots that outlives the process that writes it.
final class DecisionNoteFile: @unchecked Sendable {
    static let slots = 16
    private static let slotSize = 4096
    private static var size: Int { slots * slotSize }
    /// The length of the text, before it.
    private static let headSize = 4

    private let path: String
    private let memory: UnsafeMutableRawPointer

    /// Nil if it can't be had: nothing is noted then.
    init?(_ path: String) {
        self.path = path
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // What is behind the end of a file can't be mapped; what was in it is done with.
        guard ftruncate(descriptor, 0) == 0, posix_fallocate(descriptor, 0, Self.size) == 0,
            let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { return nil }
        self.memory = memory
    }

    deinit { munmap(memory, Self.size) }

    func remove() { unlink(path) }

    /// `LENGTH REVISION NUL ID`. The length is written last: a note that is only begun is none.
    func write(_ id: DocumentID, _ revision: RevisionID?, to slot: Int) {
        let revision = revision?.text ?? ""
        let count = revision.utf8.count + 1 + id.text.utf8.count
        guard slot < Self.slots, count <= Self.slotSize - Self.headSize else { return }
        clear(slot)
        let start = memory + slot * Self.slotSize
        var end = Self.copy(revision, to: start + Self.headSize)
        end.storeBytes(of: UInt8(0), as: UInt8.self)
        end = Self.copy(id.text, to: end + 1)
        start.storeBytes(of: UInt32(count), as: UInt32.self)
    }

    /// - Returns: Where the copy ends.
    private static func copy(_ text: String, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        var text = text
        return text.withUTF8 { bytes in
            if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
            return place + bytes.count
        }
    }

    func clear(_ slot: Int) {
        guard slot < Self.slots else { return }
        (memory + slot * Self.slotSize).storeBytes(of: UInt32(0), as: UInt32.self)
    }

    /// What a process left that died.
    static func read(_ path: String) -> [(id: DocumentID, revision: RevisionID)] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
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
