import assert from 'node:assert/strict';
import type { Status } from '@station/protocol/agent-api';
import type { AgentProcess } from '../../rig/agent-process.ts';
import { pushVariant, type Variant } from '../../rig/image-variant.ts';
import type { SmallRig } from '../../rig/small-rig.ts';

/** What a release has that the installed one has not. A service that is not named stays as it is. */
export type Changes = { backend?: Variant; frontend?: Variant };

/** A release, named by what it does: "a release that …". */
export type GoodRelease = readonly [name: string, make: () => Changes | Promise<Changes>];

/** And the reason that a station gives when it rolls it back. */
export type BadRelease = readonly [...release: GoodRelease, code: string, reason: RegExp];

/** A station to which releases are offered, each a variant of its first one. */
export type Station = { agent: AgentProcess; offer(changes: Changes): Promise<string> };

/** The first release of a station, of which all others are variants. */
export const firstVersion = '1.0.0';

/** @returns a function that publishes a release and its manifest, and answers its version. */
export function createOffers({ registry, releases }: Pick<SmallRig, 'registry' | 'releases'>): Station['offer'] {
  let minor = 0;
  return async (changes) => {
    const version = `1.${(minor += 1)}.0`;
    const images: Record<string, string> = {};
    for (const service of ['backend', 'frontend'] as const) {
      const variant = changes[service];
      const tag = variant === undefined ? firstVersion : version;
      const target = { repository: `station/${service}`, from: firstVersion, tag };
      if (variant !== undefined) await pushVariant(registry, target, variant);
      images[service] = `${registry.address}/station/${service}:${tag}`;
    }
    releases.setManifest({ version, images });
    return version;
  };
}

/** The release is installed, fails for this reason, and the one before runs again. */
export async function assertRolledBack(
  station: Station,
  changes: Changes,
  expected: { code: string; reason: RegExp },
): Promise<void> {
  const { currentVersion } = await station.agent.status();
  const { version, body, status } = await install(station, changes);
  const entry = status.history[0];
  const said = JSON.stringify(entry ?? body);
  assert.equal(status.currentVersion, currentVersion, said);
  assert.deepEqual([entry?.to, entry?.result, entry?.code], [version, 'rolled_back', expected.code], said);
  assert.match(entry?.reason ?? '', expected.reason);
  assert.equal(status.quarantined[0]?.version, version);
}

/** The release is installed, and stays. @param during what happens while it is installed. */
export async function assertStays(station: Station, changes: Changes, during?: () => Promise<void>): Promise<void> {
  const { version, body, status } = await install(station, changes, during);
  assert.deepEqual([body['result'], body['to']], ['updated', version], JSON.stringify(body));
  assert.equal(status.currentVersion, version);
}

/** @returns the version, the answer to the request, and the status once the release stays or is rolled back. */
export async function install(
  { agent, offer }: Station,
  changes: Changes,
  during: () => Promise<void> = async () => undefined,
): Promise<{ version: string; body: Record<string, unknown>; status: Status }> {
  const version = await offer(changes);
  const [{ body }] = await Promise.all([agent.call('POST', '/update'), during()]);
  return { version, body, status: await agent.idle() };
}
