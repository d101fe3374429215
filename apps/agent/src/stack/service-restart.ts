import type { Port80Lock } from './proxy-service.ts';
import type { StackEngine } from './stack-ports.ts';

export type ServiceRestartParts = {
  engine: Pick<StackEngine, 'containers' | 'setRunning'>;
  /** Waits until no stack work needs its services. */
  stack: { untilProxyIsFree(signal: AbortSignal): Promise<void> };
  lock: Port80Lock;
  /** REVERSE_PROXY_SERVICE: it stays stopped while the setup page has its port. */
  proxy: string;
};

/**
 * Restarts a service that reads its files only when it starts. One that does not run stays as it is: it reads them when it starts.
 * @throws (rejects) StationError when the engine cannot be reached.
 */
export async function restartService(
  { engine, stack, lock, proxy }: ServiceRestartParts,
  service: string,
  signal: AbortSignal,
): Promise<void> {
  await stack.untilProxyIsFree(signal);
  const isBlocked = (): boolean => service === proxy && lock.isTaken();
  const containers = await engine.containers();
  const isRunning = containers.some((container) => container.service === service && container.state === 'running');
  if (!isRunning || isBlocked()) return;
  await engine.setRunning(service, false);
  if (!isBlocked()) await engine.setRunning(service, true);
}
