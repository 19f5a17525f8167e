internal import Encodings
internal import TestKit

/// The server of the attachments that rules download. It has a picture for each product, and new ones from time to time.
final class PictureServer: OutsideServer {
    let origin = Scenario.picturesOrigin
    private var numbers: SplitMix64
    private var versions: [String: Int] = [:]

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    func answer(_ request: OutsideRequest) -> GatewayAnswer {
        let name = request.path.dropFirst().split(separator: ".")
        guard request.method == "GET", name.count == 2, Scenario.products.contains(String(name[0])) else {
            return GatewayAnswer(status: 404, "there is no such picture", summary: "no such picture")
        }
        let product = String(name[0])
        if numbers.chance(3) { versions[product, default: 0] += 1 }
        let content = Scenario.picture(of: product, version: versions[product] ?? 0)
        let tag = "\"\(Digest.sha1.hex(content))\""
        let isKnown = request.headers["if-none-match"] == tag
        var answer = GatewayAnswer(status: isKnown ? 304 : 200, "", summary: "version \(versions[product] ?? 0)")
        if !isKnown { answer.body = content }
        answer.headers = [("Content-Type", "image/png"), ("ETag", tag)]
        // The default is five minutes.
        if numbers.chance(2) { answer.headers.append(("Cache-Control", "max-age=\(numbers.below(3))")) }
        return answer
    }
}
