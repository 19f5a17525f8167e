internal import Locking
import Synchronization

/// Sends HTTP/1.1 requests over libcurl; keeps connections and reuses them.
///
/// Any task may send, and any number of requests may be in flight. One thread transfers them all; it ends with
/// ``shutdown()`` or when the last reference to the client or one of its bodies is released.
///
/// Redirects are returned like any other answer and not followed, so credentials never reach a host other than the one
/// in the request's URL. No compression is requested and `.netrc` is not read. ``HTTPProxies`` describes which proxies
/// are used.
package final class HTTPClient: Sendable {
    let engine: CurlEngine
    private let configuration: HTTPClientConfiguration
    /// For all clients, because they may share a carrier.
    private static let nextID = Atomic<TransferID>(1)

    /// Starts the thread; opens no connection yet. If the system lacks resources, every request fails with
    /// `.outOfResources`.
    package convenience init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        self.init(configuration: configuration, resources: configuration.carrier == nil ? SystemResources() : .none)
    }

    /// If the system lacks resources, the client is still created, but every request fails with `.outOfResources`.
    init(configuration: HTTPClientConfiguration, resources: SystemResources) {
        self.configuration = configuration
        let loop = CurlLoop(resources)
        engine = CurlEngine(loop: loop, configuration: configuration, resources: resources)
        if configuration.carrier == nil { loop.start(engine, resources) }
    }

    deinit {
        engine.loop.stop()
    }

    /// Sends a request and returns when the head of the answer has arrived. The body is read afterwards.
    ///
    /// Cancelling the task aborts the transfer and closes its connection within milliseconds. The server may have acted
    /// on the request by then.
    ///
    /// - Throws: ``HTTPTransportError``; `isRetryable` says whether repeating the request makes sense. A status such as
    ///   404 or 503 is an answer, not an error.
    /// - Note: Source: `libcurl-multi(3)`.
    package func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
        let id = Self.nextID.wrappingAdd(1, ordering: .relaxed).oldValue
        var flows = ExchangeFlows(body: Locked(BodyFlow(highWaterMark: configuration.highWaterMark)))
        let outcome: CurlTransfer.Head
        if let carrier = configuration.carrier {
            outcome = await head(of: request, id: id, flow: flows.body, carriedBy: carrier)
        } else if let source = request.body.source {
            let upload = Locked(UploadFlow())
            flows.upload = upload
            let feed = UploadFeed(source: source, flow: upload) { [engine] in engine.post(.resume(id)) }
            outcome = await head(of: request, id: id, flows: flows, feed)
        } else {
            outcome = await head(of: request, id: id, flows: flows)
        }
        let head = try outcome.get()
        return HTTPResponse(
            status: head.status, headers: head.headers, body: HTTPBody(client: self, id: id, flow: flows.body),
            upload: head.upload, connection: head.connection)
    }

    private func head(of request: HTTPRequest, id: TransferID, flows: ExchangeFlows) async -> CurlTransfer.Head {
        await withTaskCancellationHandler {
            await engine.head(of: request, id: id, flows: flows)
        } onCancel: {
            engine.post(.cancel(id))
        }
    }

    /// Also runs `feed`, which produces the body. A refusal that arrives before its end, such as 413, stops it. The
    /// rest is not sent, and the connection is closed after the answer was read.
    private func head(
        of request: HTTPRequest, id: TransferID, flows: ExchangeFlows, _ feed: UploadFeed
    ) async -> CurlTransfer.Head {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await feed.run() }
            // An empty body must be checked before it is sent, because there are no bytes to hold back.
            if feed.source.count == 0 {
                await group.waitForAll()
                if let failure = feed.flow.withLock(\.failure) { return .failure(failure) }
            }
            let outcome = await head(of: request, id: id, flows: flows)
            if ((try? outcome.get())?.status ?? 400) >= 400 {
                feed.flow.withLock { $0.close() }?.resume(returning: false)
                group.cancelAll()
                // libcurl 7.88 considers a transfer that waits for bytes unfinished, even if its answer has arrived.
                feed.wakeTransfer()
            }
            await group.waitForAll()
            return outcome
        }
    }

    private func head(
        of request: HTTPRequest, id: TransferID, flow: Locked<BodyFlow>, carriedBy carrier: any HTTPCarrier
    ) async -> CurlTransfer.Head {
        var request = request
        if let source = request.body.source {
            do throws(HTTPTransportError) { request.body = .bytes(try await source.collected()) } catch {
                return .failure(error)
            }
        }
        guard !Task.isCancelled else {
            return .failure(HTTPTransportError(.cancelled, "cancelled before it was sent"))
        }
        return await withTaskCancellationHandler { [request] in
            await withUnsafeContinuation { reader in
                carrier.carry(request, CarriedAnswer(id: id, flow: flow, reader: reader))
            }
        } onCancel: {
            carrier.cancel(id)
        }
    }

    /// Passes a signal of a body to its transfer.
    func post(_ signal: CurlLoop.Signal) {
        guard let carrier = configuration.carrier else { return engine.post(signal) }
        switch signal {
        case .cancel(let id): carrier.cancel(id)
        // A carried body is never paused.
        case .resume: break
        case .extend(let id, let deadline): carrier.extendDeadline(of: id, to: deadline)
        }
    }

    /// An executor for tasks that mostly wait for small answers: saves two thread switches per request. Use it as
    /// `withTaskExecutorPreference(client.executor)`. Computations on it delay all transfers.
    package var executor: any TaskExecutor { engine.loop }

    /// Aborts all requests in flight with `.cancelled`, closes all connections and waits for the thread to end.
    package func shutdown() async {
        if configuration.carrier == nil { await engine.loop.stopped() }
    }
}
