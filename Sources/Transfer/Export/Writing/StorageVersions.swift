internal import LosslessJSON

extension JSONValue {
    /// This document without the member `ver` of its attachments.
    ///
    /// It is Sync Gateway's version of how it stores the bytes, and is shown in the list of documents, not in the feed.
    /// Without it, a document has the same line in a full export and in an increment.
    ///
    /// - Note: Source: recorded, `GET /{keyspace}/_all_docs?include_docs=true` of Sync Gateway 3.3.7 and 4.1.1.
    func withoutStorageVersions() -> JSONValue {
        guard let stubs = self["_attachments"], stubs.kind == .object else { return self }
        let names = stubs.members.filter { $0.value["ver"] != nil }.compactMap { $0.name.string }
        guard !names.isEmpty, var text = copied() else { return self }
        for name in names {
            let pointer = JSONPointer(tokens: ["_attachments", name, "ver"])
            text = (try? text.removing(pointer)) ?? text
        }
        return text.root
    }
}
