import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { serve } from './serve.ts';
import type { HttpServer } from './server.ts';

export type Metrics = {
  registry: Registry;
  /** Adds a gauge whose value is read at each request. */
  gauge(name: string, help: string, read: () => number): void;
  /** Adds a counter with a label, whose values are read at each request. @param name ends with `_total`. */
  counter<Label extends string>(counter: LabelledCounter<Label>): void;
};

type LabelledCounter<Label extends string> = {
  name: `${string}_total`;
  help: string;
  labels: readonly Label[];
  read: () => readonly { labels: Readonly<Record<Label, string>>; value: number }[];
};

export function createMetrics(): Metrics {
  const registry = new Registry();
  return {
    registry,
    gauge: (name, help, read) => {
      const collect = function (this: Gauge): void {
        this.set(read());
      };
      void new Gauge({ name, help, registers: [registry], collect });
    },
    counter: ({ name, help, labels, read }) => {
      const collect = function (this: Counter): void {
        this.reset();
        for (const { labels: at, value } of read()) this.inc(at, value);
      };
      void new Counter({ name, help, labelNames: [...labels], registers: [registry], collect });
    },
  };
}

/** GET /metrics in the Prometheus format (contracts, section 9), and the request durations that it shows. */
export async function registerMetrics(app: HttpServer, { registry }: Metrics): Promise<void> {
  const durations = new Histogram({
    name: 'station_http_request_seconds',
    help: 'Duration of requests by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    // Labelled by the route's pattern: the real path would create a series for each path.
    const route = request.routeOptions.url ?? '(none)';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  let hasDefaults = false;
  serve(app, 'GET /metrics', async (_request, reply) => {
    // The process metrics need a running observer, so it starts at the first request.
    if (!hasDefaults) collectDefaultMetrics({ register: registry });
    hasDefaults = true;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
