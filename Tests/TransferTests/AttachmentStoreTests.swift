import Foundation
import Testing

@testable import Revisions
@testable import Transfer

@Suite struct AttachmentStoreTests {
    private static let bytes = Array("the bytes of an attachment".utf8)

    private func withStore(_ body: (AttachmentStore) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "changebot-store-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = AttachmentStore(folder)
        try store.create()
        try await body(store)
    }

    private let unsynced = UnsyncedFolders()

    private func spool(_ store: AttachmentStore, slot: Int = 0) async throws -> (AttachmentSpool, AttachmentBody) {
        let spool = try store.spool(for: "o", slot: slot)
        try await spool.begin()
        try await spool.append(Self.bytes)
        return (spool, await spool.body)
    }

    /// Changes if the file was replaced by an equal one.
    private func inode(_ path: String) throws -> ino_t {
        var information = stat()
        try #require(stat(path, &information) == 0)
        return information.st_ino
    }

    /// One file has the same length, so that only the bytes differ; the other was truncated by a crash.
    @Test(arguments: ["the bytes of an attachmenT", "the bytes"])
    func damagedFileIsReplaced(damaged: String) async throws {
        try await withStore { store in
            let (first, body) = try await spool(store)
            try await store.take(first, body, noting: unsynced)
            let path = store.path + "/" + body.file
            #expect(FileManager.default.contents(atPath: path) == Data(Self.bytes))
            try Data(damaged.utf8).write(to: URL(fileURLWithPath: path))
            let (second, same) = try await spool(store)
            #expect(same == body)
            try await store.take(second, same, noting: unsynced)
            #expect(FileManager.default.contents(atPath: path) == Data(Self.bytes))
            let (third, _) = try await spool(store)
            let kept = try inode(path)
            try await store.take(third, body, noting: unsynced)
            #expect(try inode(path) == kept)
        }
    }

    @Test func equalBytesMayBeStoredConcurrently() async throws {
        try await withStore { store in
            let (first, body) = try await spool(store, slot: 0)
            let (second, same) = try await spool(store, slot: 1)
            try await store.take(first, body, noting: unsynced)
            let kept = try inode(store.path + "/" + body.file)
            try await store.take(second, same, noting: unsynced)
            #expect(try inode(store.path + "/" + body.file) == kept)
            for slot in 0...1 { store.removeSpool(for: "o", slot: slot) }
            let files = try FileManager.default.subpathsOfDirectory(atPath: store.path)
            #expect(Set(files) == ["sha256", "sha256/\(body.sha256.prefix(2))", body.file])
        }
    }

    @Test func folderIsEmptyUntilFirstAttachment() async throws {
        try await withStore { store in
            let names = try FileManager.default.contentsOfDirectory(atPath: store.path)
            #expect(names.isEmpty)
        }
    }
}
