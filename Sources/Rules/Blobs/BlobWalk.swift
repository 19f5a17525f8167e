internal import LosslessJSON

/// Finds the blobs in a document, in the order of its text. Does not recurse; holds one path at a time.
struct BlobWalk {
    private let depthLimit: Int
    private var open: [Container]
    /// The path to the last blob, or to the open container.
    private var tokens: [String] = []
    private var isAtBlob = false

    init(_ document: JSONValue, depthLimit: Int) {
        self.depthLimit = depthLimit
        open = [Container(document, BlobNameHash())]
    }

    /// The place of the last blob.
    var place: BlobPlace { BlobPlace(JSONPointer(tokens: tokens)) }

    /// The next blob, with the hash of its attachment's usual name.
    mutating func next() -> (description: BlobDescription, name: BlobNameHash)? {
        if isAtBlob { tokens.removeLast() }
        isAtBlob = false
        while !open.isEmpty {
            guard let (token, value) = open[open.count - 1].next() else {
                open.removeLast()
                if !tokens.isEmpty { tokens.removeLast() }
                continue
            }
            // The gateway's own members.
            if tokens.isEmpty, token.utf8.first == UInt8(ascii: "_") { continue }
            var name = open[open.count - 1].name
            name.add(token)
            if let description = BlobDescription(value) {
                tokens.append(token)
                isAtBlob = true
                return (description, name)
            }
            guard tokens.count + 1 < depthLimit else { continue }
            tokens.append(token)
            open.append(Container(value, name))
        }
        return nil
    }

    /// The rest of an object or a list.
    private struct Container {
        private var members: JSONValue.Members
        private var elements: JSONValue.Elements
        private var position = 0
        let name: BlobNameHash

        init(_ value: JSONValue, _ name: BlobNameHash) {
            members = value.members
            elements = value.elements
            self.name = name
        }

        /// The next object or list in the container.
        mutating func next() -> (token: String, value: JSONValue)? {
            while let member = members.next() {
                guard [.object, .array].contains(member.value.kind), let name = member.name.string else { continue }
                return (name, member.value)
            }
            while let element = elements.next() {
                defer { position += 1 }
                if [.object, .array].contains(element.kind) { return (String(position), element) }
            }
            return nil
        }
    }
}

/// The hash of an attachment's name, computed from the path of its blob. Extending a path by one token costs only that
/// token.
struct BlobNameHash {
    private var hasher = Hasher()

    mutating func add(_ token: String) {
        var token = token
        token.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No UTF-8 has this byte.
        hasher.combine(0xFF as UInt8)
    }

    var value: Int { hasher.finalize() }
}

/// The attachments of a document, found by their blobs.
struct BlobAttachments {
    private let attachments: [JSONValue.Member]
    /// Positions in ``attachments`` by the hash of the name. If hashes collide, the last one counts.
    private var positions: [Int: Int] = [:]
    /// The SHA-1 digests of all attachments.
    private var digests: Set<String> = []
    /// The lengths of the attachments without a SHA-1 digest.
    private var lengths: Set<Int?> = []

    init(_ attachments: JSONValue?, depthLimit: Int) {
        self.attachments = attachments.map { Array($0.members) } ?? []
        for (position, attachment) in self.attachments.enumerated() {
            if let digest = attachment.value["digest"]?.string, digest.hasPrefix("sha1-") {
                digests.insert(digest)
            } else {
                lengths.insert(attachment.value["length"]?.integer)
            }
            guard let name = attachment.name.string, name.utf8.count(where: { $0 == UInt8(ascii: "/") }) <= depthLimit,
                let place = BlobPlace(attachmentName: name)
            else { continue }
            var hash = BlobNameHash()
            for token in place.pointer.tokens { hash.add(token) }
            positions[hash.value] = position
        }
    }

    /// The stub of the attachment with the usual name. Nil if there is none.
    ///
    /// - Parameter place: Called only if such an attachment may exist.
    func stub(of name: BlobNameHash, at place: () -> BlobPlace) -> JSONValue? {
        guard let position = positions[name.value], attachments[position].name.isString(place().attachmentName)
        else { return nil }
        return attachments[position].value
    }

    /// Whether an attachment with another name may hold the bytes, for example after elements of a list have moved.
    func mayHold(_ blob: BlobDescription) -> Bool {
        guard let digest = blob.digest else { return false }
        return digests.contains(digest) || lengths.contains(blob.length)
    }
}
