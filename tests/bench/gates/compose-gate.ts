import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Changes, firstVersion } from '../../e2e/bad-releases/offered.ts';
import { pushVariant } from '../../rig/image-variant.ts';
import { createRealStack } from '../../rig/real-stack.ts';
import { createSmallRig, type SmallRig } from '../../rig/small-rig.ts';
import {
  changeable,
  type Changeable,
  changedBy,
  checkRetries,
  checkTimeoutSeconds,
  type Check,
  type Checks,
  checksOfForeign,
  checksOfHome,
  type Gate,
  patienceSeconds,
  stabilizationSeconds,
  type Verdict,
} from './gate.ts';

/** `docker compose up --wait` on a stack that is not Station's. */
export async function composeOfForeign(): Promise<Gate> {
  const rig = await createSmallRig();
  await rig.stack.writeProject(await rig.release({ version: firstVersion }));
  return createGate(rig, rig.stack.folder, checksOfForeign);
}

/** `docker compose up --wait` on the stack of a home. Its devices are no matter: a health check does not see them. */
export async function composeOfHome(): Promise<Gate> {
  const rig = await createSmallRig();
  const { engine, registry, workspace } = rig;
  const stack = await createRealStack(workspace, { engine, registry, versions: [firstVersion] });
  return createGate(rig, stack.folder, checksOfHome);
}

type Tags = Partial<Record<Changeable, string>>;

async function createGate(rig: SmallRig, folder: string, checks: Checks): Promise<Gate> {
  const { engine, registry } = rig;
  let count = 0;
  const up = async (tags: Tags) => {
    const services = Object.fromEntries(
      changeable.map((service) => {
        const image = `${registry.address}/station/${service}:${tags[service] ?? firstVersion}`;
        return [service, { image, stop_grace_period: '3s', ...healthcheckOf(checks[service]) }];
      }),
    );
    // JSON is YAML. Compose reads this file without being told to.
    await writeFile(join(folder, 'docker-compose.override.yml'), JSON.stringify({ services }));
    return engine.tryCompose(folder, ['up', '--detach', '--wait', '--wait-timeout', String(patienceSeconds)]);
  };
  const restore = async (): Promise<void> => {
    const { exitCode, stderr } = await up({});
    if (exitCode !== 0) throw new Error(`the first release does not come back: ${stderr.slice(-1000)}`);
  };
  /** Whether every service runs, and is healthy where somebody asks. */
  const isGood = async (): Promise<boolean> => {
    const lines = (await engine.compose(folder, 'ps', '--all', '--format', 'json')).split('\n');
    return lines.every((line) => {
      const { State, Health } = JSON.parse(line) as { State: string; Health: string };
      return State === 'running' && (Health === '' || Health === 'healthy');
    });
  };
  await restore();
  const judge = async (changes: Changes): Promise<Verdict> => {
    const tag = `release-${(count += 1)}`;
    const tags: Tags = {};
    for (const service of changedBy(changes)) {
      const target = { repository: `station/${service}`, from: firstVersion, tag };
      await pushVariant(registry, target, changes[service] ?? {});
      tags[service] = tag;
    }
    const { exitCode } = await up(tags);
    await new Promise((resolve) => setTimeout(resolve, stabilizationSeconds * 1000));
    return exitCode === 0 && (await isGood()) ? 'kept' : 'caught';
  };
  return {
    judge: async (changes) => {
      try {
        return { 'health check': await judge(changes) };
      } finally {
        await restore();
      }
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

function healthcheckOf(check: Check | null): object {
  if (check === null) return {};
  return {
    healthcheck: {
      test: ['CMD', ...check.command],
      interval: `${check.intervalSeconds}s`,
      timeout: `${checkTimeoutSeconds}s`,
      retries: checkRetries,
      start_period: `${check.startSeconds}s`,
    },
  };
}
