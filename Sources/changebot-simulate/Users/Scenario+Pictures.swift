internal import TestKit

/// The rules that attach, and what they mean.
extension Scenario {
    static let picturesOrigin = "http://pictures.example"
    static let products = ["bench", "chair", "desk", "lamp", "shelf", "table"]
    /// The files that rules attach, by path.
    static let files = [
        "apple.png": bytes(of: "apple", count: 900),
        "logo.txt": Array("changebot\n".utf8),
    ]

    /// `picture` looks whether there is an attachment of that name. `logo` repairs its attachment, so it compares.
    static let pictureRules: String = {
        let downloads = (products + ["ghost"]).map { product in
            """
              - name: product-\(product)
                when: { type: product, product: \(product), _attachments.image: { $exists: false } }
                then:
                  - attach: { name: image, url: "\(picturesOrigin)/\(product).png" }
            """
        }
        return """
              - name: picture
                when: { type: picture, _attachments.image: { $exists: false } }
                then:
                  - attach: { name: image, file: apple.png }
              - name: logo
                when: { type: logo }
                then:
                  - attach: { name: logo.txt, file: logo.txt }

            """ + downloads.joined(separator: "\n")
    }()

    /// An attachment that a document must get.
    enum Picture: Equatable {
        case file(name: String, type: String, path: String)
        /// Any picture that the server has had for this product.
        case product(String)

        var name: String {
            switch self {
            case .file(let name, _, _): name
            case .product: "image"
            }
        }

        func isMet(by attachment: StoredAttachment) -> Bool {
            switch self {
            case .file(_, let type, let path): attachment.type == type && attachment.content == files[path]
            case .product(let product): attachment.type == "image/png" && isPicture(attachment.content, of: product)
            }
        }
    }

    static func picture(neededBy revision: StoredRevision) -> Picture? {
        switch revision.body["type"] {
        case #""picture""#:
            guard revision.attachments["image"] == nil else { return nil }
            return .file(name: "image", type: "image/png", path: "apple.png")
        case #""logo""#:
            let logo = Picture.file(name: "logo.txt", type: "text/plain", path: "logo.txt")
            return revision.attachments["logo.txt"].map(logo.isMet) == true ? nil : logo
        case #""product""#:
            guard revision.attachments["image"] == nil else { return nil }
            return (products + ["ghost"]).first { revision.body["product"] == "\"\($0)\"" }.map { .product($0) }
        default: return nil
        }
    }

    /// Whether a dead letter for this revision is right: the server refuses the request, or this one request fails again
    /// and again while others succeed.
    static func mayFail(_ revision: StoredRevision, because reason: String) -> Bool {
        guard case .product(let product) = picture(neededBy: revision) else {
            return mayFailToSend(revision, because: reason) || mayFailToSpread(revision, because: reason)
                || mayFailToAnswer(revision, because: reason) || mayBeRefused(revision, because: reason)
                || mayEndChain(revision, because: reason)
                || isMemo(revision) && reason.hasPrefix("left in conflict: ")
        }
        return product == "ghost"
            ? reason.contains("answered HTTP 404") || reason.contains(" times while the server serves other requests")
            : reason.contains(" times while the server serves other requests")
    }

    /// The picture that the server has for a product at some time.
    static func picture(of product: String, version: Int) -> [UInt8] {
        Array("\(version) ".utf8) + bytes(of: "\(product) \(version)", count: 100 + 37 * version)
    }

    private static func isPicture(_ content: [UInt8], of product: String) -> Bool {
        Int(String(decoding: content.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
            .map { picture(of: product, version: $0) == content } ?? false
    }

    private static func bytes(of name: String, count: Int) -> [UInt8] {
        var numbers = SplitMix64(seed: name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 32) }
    }
}
