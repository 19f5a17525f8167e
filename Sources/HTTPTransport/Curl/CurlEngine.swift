import CCurl
import Glibc
internal import Locking

/// Drives libcurl's multi handle: starts transfers, moves bytes, wakes readers, watches deadlines.
///
/// Runs on the thread of its ``CurlLoop``, so neither the handles nor the callbacks need a lock. Other threads refer to
/// a transfer by its number, which does not keep it alive.
actor CurlEngine {
    typealias Instant = ContinuousClock.Instant

    nonisolated let loop: CurlLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: HTTPClientConfiguration
    private let resources: SystemResources
    /// Nil if there was no memory for it. The loop then does not start.
    private let multi: UnsafeMutableRawPointer?
    nonisolated let hasHandle: Bool
    private let marked = MarkedTransfers()
    /// Swapped with the list of `marked`, so that neither is allocated repeatedly.
    private var delivering: [CurlTransfer] = []
    private var transfers: [TransferID: CurlTransfer] = [:]
    /// The transfers whose next read is delayed, in no order.
    private var delayed: [TransferID] = []
    /// `time` is never later than the earliest deadline. If it is earlier, one pass over all transfers corrects it.
    /// `isStale`: a deadline was moved or removed since then. The thread must not wake up for it.
    private var nextDue: (time: Instant?, isStale: Bool) = (nil, false)
    /// The number of rounds of the thread; it sleeps in between.
    private(set) var rounds = 0
    /// Why no more requests can be sent.
    private var endReason: HTTPTransportError?

    /// `curl_global_init`, once per process. Thread-safe: Swift initialises a global only once.
    private static let isGloballyReady: Bool = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    init(loop: CurlLoop, configuration: HTTPClientConfiguration, resources: SystemResources) {
        let multi = Self.isGloballyReady ? resources.multiHandle() : nil
        self.loop = loop
        self.configuration = configuration
        self.resources = resources
        self.multi = multi
        hasHandle = multi != nil
        guard let multi else { return }
        ccurl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
        if let limit = configuration.connections.maximumPerHost {
            ccurl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limit)
        }
    }

    /// Sends `request` and waits for the head of the answer. The bodies pass through `flows`.
    func head(of request: HTTPRequest, id: TransferID, flows: ExchangeFlows) async -> CurlTransfer.Head {
        if let refusal { return .failure(refusal) }
        if let error = request.lengthError { return .failure(HTTPTransportError(.invalidRequest, error)) }
        guard let url = request.parsedURL() else {
            return .failure(HTTPTransportError(.badURL, "the URL must be an http or https URL without user info"))
        }
        if let error = request.error {
            let place = url.place
            curl_url_cleanup(url)
            let message = "the method, a header or the credentials can't be sent"
            return .failure(HTTPTransportError(error, message, host: place.host, port: place.port))
        }
        guard let easy = resources.easyHandle() else {
            curl_url_cleanup(url)
            return .failure(HTTPTransportError(.outOfResources, "the process has no memory left for a request"))
        }
        let timers = ExchangeTimers(
            deadline: request.deadline, idleTimeout: request.idleTimeout, sendsBody: request.body.count ?? 0 > 0,
            now: .now)
        let transfer = CurlTransfer(
            easy, id: id, request: request, url: url, configuration: configuration, flows: flows, timers: timers,
            marked: marked)
        return await withUnsafeContinuation { reader in
            transfer.headReader = reader
            start(transfer)
        }
    }

    nonisolated func post(_ signal: CurlLoop.Signal) { loop.post(signal) }

    /// One round: handles signals, network and overdue transfers, then sleeps until there is more to do.
    func runRound(_ signals: [CurlLoop.Signal]) {
        rounds += 1
        for signal in signals { handle(signal) }
        endDelays()
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        finishTransfers()
        let continues = deliver()
        expire()
        // One pass only: a reader that waits again immediately must not delay signals and jobs.
        if !continues { poll() }
    }

    /// Aborts everything and closes all connections. Later requests fail with `error`.
    func close(_ error: HTTPTransportError) {
        guard endReason == nil else { return }
        endReason = error
        for transfer in transfers.values { finish(transfer, .failure(error)) }
        marked.list = []
        curl_multi_cleanup(multi)
    }

    /// Why a request of the current task must not begin.
    private var refusal: HTTPTransportError? {
        Task.isCancelled ? HTTPTransportError(.cancelled, "cancelled before it was sent") : endReason
    }

    private func start(_ transfer: CurlTransfer) {
        // Checked again: the engine may have been suspended on the way into the continuation. Nothing runs between this
        // check and the entry in `transfers`, where a later cancellation finds the transfer.
        if let refusal { return transfer.reportHead(.failure(refusal)) }
        transfers[transfer.id] = transfer
        arm(transfer)
        let result = curl_multi_add_handle(multi, transfer.handle.easy)
        guard result != CURLM_OK else { return endIfSourceFailed(transfer) }
        let message = String(cString: curl_multi_strerror(result))
        finish(transfer, .failure(HTTPTransportError(.other(Int(result.rawValue)), message, of: transfer)))
    }

    private func handle(_ signal: CurlLoop.Signal) {
        switch signal {
        case .cancel(let id):
            guard let transfer = transfers[id] else { return }
            finish(transfer, .failure(HTTPTransportError(.cancelled, "cancelled", of: transfer)))
        case .resume(let id):
            guard let transfer = transfers[id] else { return }
            endIfSourceFailed(transfer)
            if transfers[id] != nil { resume(transfer) }
        case .extend(let id, let deadline):
            guard let transfer = transfers[id] else { return }
            transfer.timers.extend(to: deadline)
            arm(transfer)
            nextDue.isStale = true
        }
    }

    /// Ends a transfer whose body can't be produced. The connection is closed, so that the server does not get a
    /// complete body.
    private func endIfSourceFailed(_ transfer: CurlTransfer) {
        guard let error = transfer.body.failure else { return }
        finish(transfer, .failure(HTTPTransportError(error.code, error.message, of: transfer)))
    }

    /// Ends the transfers that libcurl reports as done.
    private func finishTransfers() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let result = message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            ccurl_getinfo_private(message.pointee.easy_handle, &context)
            let transfer = CurlTransfer.of(context)
            let isWhole = result == CURLE_OK && transfer.causes.ownError == nil
            finish(transfer, isWhole ? .success(()) : .failure(HTTPTransportError(result, of: transfer)))
        }
    }

    /// Ends a transfer, with any result. `curl_multi_remove_handle` closes the connection of an unfinished one.
    private func finish(_ transfer: CurlTransfer, _ result: Result<Void, HTTPTransportError>) {
        guard transfers.removeValue(forKey: transfer.id) != nil else { return }
        nextDue.isStale = true
        curl_multi_remove_handle(multi, transfer.handle.easy)
        if case .failure(let error) = result, !transfer.head.isComplete { transfer.reportHead(.failure(error)) }
        transfer.reportHead()
        transfer.body.close()
        transfer.deliver(transfer.flow.withLock { $0.finish(result) })
        transfer.report(result)
    }

    /// Passes received bytes to readers. Returns true if a paused transfer continues and libcurl must be called again.
    private func deliver() -> Bool {
        guard !marked.list.isEmpty else { return false }
        var continues = false
        swap(&marked.list, &delivering)
        defer { delivering.removeAll(keepingCapacity: true) }
        let now: Instant? = delivering.contains { $0.timers.watchesActivity } ? .now : nil
        for transfer in delivering {
            transfer.unmark()
            guard transfers[transfer.id] != nil else { continue }
            if transfer.head.isComplete { transfer.reportHead() }
            let (delivery, isPaused) = transfer.flow.withLock { ($0.takeDelivery(), $0.isPaused) }
            let isStarving = transfer.body.isStarving
            if let now { transfer.timers.noteActivity(at: now, isPaused: isPaused || isStarving) }
            transfer.deliver(delivery)
            if delivery?.wasPaused == true {
                resume(transfer)
                continues = true
            } else if !isPaused {
                beginDelay(of: transfer)
            }
        }
        return continues
    }

    /// Stops polling the transfer's socket for a while, if its pacing says so.
    private func beginDelay(of transfer: CurlTransfer) {
        guard transfer.reading.beginRest() else { return }
        delayed.append(transfer.id)
        curl_easy_pause(transfer.handle.easy, CURLPAUSE_RECV)
    }

    /// Resumes reading for transfers whose delay is over.
    private func endDelays() {
        guard !delayed.isEmpty else { return }
        let now = Instant.now
        delayed.removeAll { id in
            guard let transfer = transfers[id], let end = transfer.reading.restsUntil else { return true }
            guard end <= now else { return false }
            transfer.reading.endRest()
            // Check even if nothing has arrived: the next bytes are then delivered immediately.
            transfer.markForCheck()
            curl_easy_pause(transfer.handle.easy, CURLPAUSE_CONT)
            return true
        }
    }

    private func resume(_ transfer: CurlTransfer) {
        if transfer.timers.watchesActivity {
            transfer.timers.noteActivity(at: .now, isPaused: false)
            arm(transfer)
        }
        transfer.reading.endRest()
        curl_easy_pause(transfer.handle.easy, CURLPAUSE_CONT)
    }

    private func arm(_ transfer: CurlTransfer) {
        guard let due = transfer.timers.due else { return }
        nextDue.time = nextDue.time.map { min($0, due) } ?? due
    }

    /// Ends overdue transfers and finds the next time to check.
    private func expire() {
        guard let due = nextDue.time, due <= .now else { return }
        let now = Instant.now
        nextDue.time = nil
        for transfer in transfers.values {
            if let timeout = transfer.timers.timeout(at: now, acknowledged: transfer.handle.acknowledgedBytes) {
                let message = transfer.timers.message(of: timeout)
                finish(transfer, .failure(HTTPTransportError(.timedOut(timeout), message, of: transfer)))
            } else {
                arm(transfer)
            }
        }
    }

    /// Sleeps until a socket is ready, libcurl or a deadline needs attention, or another thread wakes the loop.
    private func poll() {
        if nextDue.isStale { nextDue = (transfers.values.compactMap(\.timers.due).min(), false) }
        let delayEnd = delayed.lazy.compactMap { self.transfers[$0]?.reading.restsUntil }.min()
        let due = [nextDue.time, delayEnd].compactMap(\.self).min()
        let milliseconds = due.map { Instant.now.duration(to: $0).milliseconds } ?? Int(Int32.max)
        guard loop.beginPolling() else { return }
        var wake = curl_waitfd(fd: loop.wakeDescriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &wake, 1, Int32(milliseconds), nil)
        loop.endPolling(wasWoken: wake.revents != 0)
    }
}

extension CurlTransfer {
    /// Wakes the task that waits for the head, unless it was already woken.
    fileprivate func reportHead(_ result: Head? = nil) {
        guard let reader = headReader else { return }
        headReader = nil
        let cut = HTTPTransportError(.connectionClosed, "cut off in the middle of the header", of: self)
        let whole: Head =
            head.isComplete
            ? .success((head.status, head.headers, body.timer?.answered(), connectionReport)) : .failure(cut)
        reader.resume(returning: result ?? whole)
    }

    fileprivate func deliver(_ delivery: BodyFlow.Delivery?) {
        guard let delivery else { return }
        delivery.reader.resume(returning: delivery.part)
    }
}
