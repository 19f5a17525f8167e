/// A guarantee that a run has broken.
struct Violation: Error {
    enum Guarantee: String, CaseIterable {
        case nothingIsLost = "1. Nothing is lost"
        case checkpoint = "1. The checkpoint never passes unfinished work"
        case order = "1. Other documents are written first"
        case outdated = "1. No put is outdated"
        case bytes = "2. Rules change only what they name"
        case loops = "3. No loops"
        case edits = "5. No edit is overwritten"
        case totals = "Counts are right"
        case times = "No time is missed"
        case webhooks = "Webhooks arrive at least once"
        case edges = "A rule fires once for each edge"
        case doors = "No edge is missed"
        case rate = "A busy document is written at most 30 times a minute"
        case checkpointAge = "The checkpoint is saved soon"
        case lines = "Emitted lines appear at least once"
        case deadLetters = "7. An outage causes no dead letters"
        case reset = "8. A reset is noticed"
        case logins = "A refused password is sent at most twice in five minutes"
        case leases = "Another machine takes over: a member acts only while it holds its leases"
        case log = "Another machine takes over: every change is decided"
        case memory = "A budget limits the use of memory"
        case running = "The bot keeps running"
        case simulation = "The simulation itself"
    }

    let guarantee: Guarantee
    let detail: String
}
