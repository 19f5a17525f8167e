internal import LosslessJSON

// Sync Gateway 4 adds `_cv` to documents that it serves. Writes are guarded by `_rev`, and the two could disagree.

extension JSONText {
    func withoutVersion() throws(JSONEditError) -> JSONText {
        root["_cv"] == nil ? self : try removing(JSONPointer(tokens: ["_cv"]))
    }
}

extension JSONValue {
    /// A copy of this object, taken out of the surrounding text. Keeps `_cv` if it can't be removed; the decision will
    /// report why.
    var bytesWithoutVersion: [UInt8] {
        guard self["_cv"] != nil, let bytes = try? bytes(withoutMember: "_cv") else { return Array(bytes) }
        return bytes
    }
}
