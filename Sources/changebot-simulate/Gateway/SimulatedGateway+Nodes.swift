internal import GatewayClient

/// What happens to a gateway as a whole: copies, resets, compaction, and nodes that see writes late.
extension SimulatedGateway {
    /// The content of its database at one time.
    struct Copy {
        let content: Content
        let startTime: Int
    }

    var copy: Copy { Copy(content: content, startTime: startTime) }

    /// Replaces the database: by an older copy, or by a new and empty one. Longpolls are dropped: the caller closes their
    /// connections.
    ///
    /// - Parameter time: When it was created, as CouchDB tells it, or when it was last online, as Sync Gateway does.
    func replace(by copy: Copy?, at time: Int) {
        if errors.hidesResets {
            var content = copy?.content ?? Content(shards: positions.shardCount)
            content.localDocuments = self.content.localDocuments
            content.raise(to: self.content)
            return replaceContent(by: content)
        }
        startTime = dialect == .couchDB ? copy?.startTime ?? time : time
        replaceContent(by: copy?.content ?? Content(shards: positions.shardCount))
    }

    /// Old revisions have no body any more.
    ///
    /// - Returns: How many have lost it.
    func compact() -> Int { ids.reduce(0) { $0 + compact($1) } }
}
