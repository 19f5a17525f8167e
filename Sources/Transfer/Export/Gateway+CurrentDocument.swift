internal import GatewayClient
internal import LosslessJSON

extension Gateway {
    /// A document as it is now, also for users who may not list any.
    func current(_ id: DocumentID) async throws(GatewayError) -> DocumentLookup {
        do throws(GatewayError) {
            if let lookup = try await allDocs(keys: [id]).first { return lookup }
        } catch {
            guard [403, 404, 405].contains(error.status), !error.isAboutKeyspace else { throw error }
        }
        do throws(GatewayError) {
            guard let text = try await document(id) else { return .missing }
            return .found(RevisionID(text.root["_rev"]?.string ?? ""), text)
        } catch {
            // Of this document alone: of the keyspace, the next request will tell.
            guard error.status == 403, !error.isAboutKeyspace else { throw error }
            return .refused(reason: error.description)
        }
    }
}
