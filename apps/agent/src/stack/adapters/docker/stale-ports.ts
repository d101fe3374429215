import { runCommand } from '@station/kit/command';
import { Type } from 'typebox';
import { type EngineApi, expectBody } from './engine-api.ts';

const Published = Type.Array(
  Type.Object({ Ports: Type.Optional(Type.Array(Type.Object({ PublicPort: Type.Optional(Type.Number()) }))) }),
);

/**
 * Whether the engine holds a port for a container that does not run. A power cut in the instant in which a container starts
 * leaves that in dockerd's network database, and no container that publishes the port starts again until dockerd is restarted.
 * (A port that a program of the machine has is `address already in use`.)
 * @param stderr of Compose: the engine has no code for it.
 */
export async function holdsStalePort(api: Pick<EngineApi, 'call'>, stderr: string): Promise<boolean> {
  const port = /Bind for \S*:(\d+) failed: port is already allocated/.exec(stderr)?.[1];
  if (port === undefined) return false;
  const running = expectBody(await api.call('GET', '/containers/json'), Published, 'GET /containers/json');
  return !running.some(({ Ports = [] }) => Ports.some(({ PublicPort }) => PublicPort === Number(port)));
}

const restartTimeoutMs = 120_000;

/** Restarts dockerd by its service; containers that ran start again with it. @returns whether it answers again. */
export async function restartEngine(env: Record<string, string>, signal: AbortSignal): Promise<boolean> {
  const abort = AbortSignal.any([signal, AbortSignal.timeout(restartTimeoutMs)]);
  try {
    return (await runCommand('systemctl', ['restart', 'docker.service'], { env, abort })).exitCode === 0;
  } catch {
    // There is no systemd here, or it took too long.
    signal.throwIfAborted();
    return false;
  }
}
