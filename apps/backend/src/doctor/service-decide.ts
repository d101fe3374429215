import type { CheckOutcome } from '@station/kit/doctor-decide';
import type { BackendFindingCode } from '@station/protocol/backend-findings';
import { ownValue } from '@station/protocol/own-value';
import type { BrokerProbe, HttpProbe } from '../core/doctor-facts.ts';

type Outcome = CheckOutcome<BackendFindingCode>;

/** Whether an answer of /api/health is a backend's. */
export function isBackend(probe: HttpProbe): boolean {
  if (probe.kind !== 'answer' || typeof probe.body !== 'object' || probe.body === null) return false;
  return 'status' in probe.body && 'version' in probe.body && 'checks' in probe.body;
}

export function decideWebServer(address: string, port: number, probe: HttpProbe): Outcome {
  const outcome = (code: BackendFindingCode, values: Record<string, string>): Outcome => ({
    detail: address,
    findings: [{ code, values }],
  });
  if (probe.kind === 'refused') return outcome('backend_stopped', {});
  if (!isBackend(probe)) {
    // No answer in time may be a backend that hangs, or another program.
    return probe.kind === 'failed'
      ? outcome('backend_unhealthy', { reason: probe.reason })
      : outcome('port_taken', { port: String(port) });
  }
  if (probe.kind === 'answer' && probe.status !== 200)
    return outcome('backend_unhealthy', { reason: reasonOf(probe.body) });
  return { detail: address, findings: [] };
}

/** What is not healthy, and why where the backend says it. */
function reasonOf(body: unknown): string {
  const { checks, reasons } = body as { checks: Record<string, unknown>; reasons?: Record<string, unknown> };
  const failing = Object.entries(checks).filter(([, isHealthy]) => isHealthy === false);
  return (
    failing
      .map(([name]) => {
        const reason = ownValue(reasons, name);
        return typeof reason === 'string' ? `${name}: ${reason}` : name;
      })
      .join(', ') || 'it does not say why'
  );
}

export function decideExternalBroker(broker: string, probe: BrokerProbe): Outcome {
  if (probe.kind === 'ok') return { detail: broker, findings: [] };
  const code = probe.kind === 'refused' ? 'broker_refuses' : 'broker_unreachable';
  return { detail: broker, findings: [{ code, values: { broker, reason: probe.reason } }] };
}

export function decideOwnBroker(
  address: string,
  port: number,
  facts: { isListening: boolean; isBackendRunning: boolean },
): Outcome {
  if (facts.isListening === facts.isBackendRunning) return { detail: address, findings: [] };
  const code = facts.isListening ? 'port_taken' : 'broker_not_listening';
  return { detail: address, findings: [{ code, values: { port: String(port) } }] };
}

/** @param missing files of the built web app that its first page needs. */
export function decideWebApp(folder: string, missing: readonly string[]): Outcome {
  return { detail: folder, findings: missing.map((file) => ({ code: 'web_app_incomplete', values: { file } })) };
}
