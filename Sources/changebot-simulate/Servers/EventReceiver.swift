/// The receiver. It refuses some events for good, whatever their document says.
final class EventReceiver: OutsideServer {
    let origin = Scenario.receiverOrigin
    /// Called with each event, and whether it is accepted.
    var note: (OutsideRequest, Bool) -> Void = { _, _ in }

    func answer(_ request: OutsideRequest) -> GatewayAnswer {
        let isRefused = Scenario.isRefusedEvent(request.body)
        note(request, !isRefused)
        let id = (request.headers["idempotency-key"] ?? "").prefix(6)
        return isRefused
            ? GatewayAnswer(status: 422, "no text", summary: "event \(id) refused")
            : GatewayAnswer(status: 202, "", summary: "event \(id) accepted")
    }
}
