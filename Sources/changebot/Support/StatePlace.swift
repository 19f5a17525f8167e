internal import Foundation
internal import GatewayClient

/// Where a run keeps its state, and which gateway that is bound to.
struct StatePlace {
    let directory: String
    let name: String
    /// For an embedded gateway its file, not the address that it happens to listen on.
    let gatewayIdentity: String
    private let isTemporary: Bool

    init(choice: GatewayChoice, directory: String, _ name: String) {
        self.name = name
        switch choice {
        case .remote(let url):
            self.directory = directory
            gatewayIdentity = url.description
            isTemporary = false
        case .embedded(let file?):
            self.directory = directory
            gatewayIdentity = "embedded:\(URL(fileURLWithPath: file).standardizedFileURL.path)"
            isTemporary = false
        case .embedded(nil):
            // A gateway in memory forgets everything; so does what is known of it.
            self.directory = NSTemporaryDirectory() + "changebot-\(UUID().uuidString)"
            gatewayIdentity = "embedded:"
            isTemporary = true
        }
    }

    func discardIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: directory) }
    }
}
