internal import LosslessJSON

// Sync Gateway 4 adds `_cv` to what it hands out. Writes are guarded by `_rev`; both could disagree.

extension JSONText {
    func withoutVersion() throws(JSONEditFault) -> JSONText {
        root["_cv"] == nil ? self : try removing(JSONPointer(tokens: ["_cv"]))
    }
}

extension JSONValue {
    /// A copy of this object out of the text that it stands in. With `_cv` if it can't be taken away: whoever decides
    /// about the document will say why.
    var bytesWithoutVersion: [UInt8] {
        guard self["_cv"] != nil, let bytes = try? bytes(withoutMember: "_cv") else { return Array(bytes) }
        return bytes
    }
}
