// npm run bench -- update-overhead [--rounds N] [--cycles N]
// Compares the agent's update with a plain `docker compose pull && docker compose up -d` of the same releases on the
// same engine, in turns. Then it sends a steady load through the proxy while the agent updates and rolls back.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { agentEnv, createAgentProcess, type AgentProcess } from '../rig/agent-process.ts';
import { createDockerEngine } from '../rig/docker-engine.ts';
import { run, waitFor } from '../rig/program.ts';
import { createRealStack } from '../rig/real-stack.ts';
import { createRegistry } from '../rig/registry.ts';
import { createReleaseServer } from '../rig/release-server.ts';
import { createSmallRig, type SmallRig } from '../rig/small-rig.ts';
import { createSmallStack, type SmallStack } from '../rig/small-stack.ts';
import { createWorkspace } from '../rig/workspace.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, cycles: { type: 'string', default: '3' } },
});
const rounds = Number(values.rounds);
const cycles = Number(values.cycles);
const goals = { extraSeconds: 0.5, downtimeRatio: 1.1, failedRequests: 0 };
const requestsPerSecond = 200;
const ballast = [4_000_000, 2_000_000];

type Sample = { seconds: number; downtimeMs: number };

const log = (text: string): void => void process.stderr.write(`${text}\n`);
const median = (numbers: number[]): number => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
const round = (value: number, digits = 3): number => Number(value.toFixed(digits));

const { agentSamples, bareSamples } = await compareUpdates();
const load = await updateUnderLoad();
const extraSeconds =
  median(agentSamples.map(({ seconds }) => seconds)) - median(bareSamples.map(({ seconds }) => seconds));
const downtimeRatio =
  median(agentSamples.map((one) => one.downtimeMs)) / median(bareSamples.map((one) => one.downtimeMs));
const ok =
  extraSeconds <= goals.extraSeconds && downtimeRatio <= goals.downtimeRatio && load.failed === goals.failedRequests;
process.stdout.write(
  `${JSON.stringify({
    bench: 'update-overhead',
    value: round(extraSeconds),
    unit: 's',
    ratio: round(downtimeRatio),
    goal: goals.extraSeconds,
    ok,
    goals,
    agent: {
      seconds: agentSamples.map(({ seconds }) => round(seconds)),
      downtimeMs: agentSamples.map((one) => Math.round(one.downtimeMs)),
    },
    bare: {
      seconds: bareSamples.map(({ seconds }) => round(seconds)),
      downtimeMs: bareSamples.map((one) => Math.round(one.downtimeMs)),
    },
    underLoad: load,
  })}\n`,
);
process.exitCode = ok ? 0 : 1;

async function compareUpdates(): Promise<{ agentSamples: Sample[]; bareSamples: Sample[] }> {
  await using rig = await createSmallRig();
  const { workspace, engine, registry } = rig;
  const bare = await createSmallStack(workspace, { engine, registry, project: 'bare' });
  const agent = await startStation(rig);
  await bare.writeProject(await bare.publish({ version: '1.0.0', ballast }));
  await bare.up();
  const updateBare = async (version: string): Promise<() => Promise<void>> => {
    await bare.writeProject(await bare.publish({ version, ballast }));
    return async () => {
      await engine.compose(bare.folder, 'pull', '--quiet');
      await engine.compose(bare.folder, 'up', '-d');
    };
  };
  const updateByAgent = async (version: string): Promise<() => Promise<void>> => {
    await rig.release({ version, ballast });
    return async () => {
      const answer = await agent.call('POST', '/update');
      assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
    };
  };
  const bareSamples: Sample[] = [];
  const agentSamples: Sample[] = [];
  for (let index = 1; index <= rounds; index += 1) {
    log(`round ${index} of ${rounds}`);
    // Timed without other requests: a request to a missing container makes its address unreachable for a while.
    const timed = `1.${index}.0`;
    const watched = `1.${index}.1`;
    bareSamples.push({
      seconds: await timeOf(await updateBare(timed)),
      downtimeMs: await downtimeOf(bare, await updateBare(watched)),
    });
    agentSamples.push({
      seconds: await timeOf(await updateByAgent(timed)),
      downtimeMs: await downtimeOf(rig.stack, await updateByAgent(watched)),
    });
    await agent.idle();
  }
  return { agentSamples, bareSamples };
}

/** A station on release 1.0.0 with a health gate of length 0, because the plain commands have none. */
async function startStation(rig: SmallRig): Promise<AgentProcess> {
  await rig.stack.writeProject(await rig.release({ version: '1.0.0', ballast }));
  await rig.stack.up();
  const agent = await createAgentProcess(rig.workspace, agentEnv(rig, { STABILIZATION_SECONDS: '0' }));
  await agent.start();
  await agent.idle();
  return agent;
}

async function timeOf(action: () => Promise<void>): Promise<number> {
  // This run must not wait for unwritten data of the previous one.
  await run('sync', []);
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}

/** The longest time in which the stack's health check did not answer during an action. */
async function downtimeOf(stack: SmallStack, action: () => Promise<void>): Promise<number> {
  const stop = watchHealth(stack.healthUrl);
  await action();
  return await stop();
}

function watchHealth(url: string): () => Promise<number> {
  let going = true;
  let lastOk = performance.now();
  let longest = 0;
  const watching = (async () => {
    while (going || performance.now() - lastOk > 300) {
      const answer = await fetch(url, { signal: AbortSignal.timeout(1000), headers: { connection: 'close' } }).catch(
        () => null,
      );
      await answer?.body?.cancel();
      const now = performance.now();
      if (answer?.ok) {
        longest = Math.max(longest, now - lastOk);
        lastOk = now;
      }
      await sleep(25);
    }
  })();
  return async () => {
    going = false;
    await watching;
    return longest;
  };
}

/** The real stack behind its own proxy: what people notice during an update. */
async function updateUnderLoad(): Promise<Load> {
  log(`the real stack: update and rollback under ${requestsPerSecond} requests a second`);
  await using workspace = await createWorkspace();
  const [engine, registry, releases] = await Promise.all([
    createDockerEngine(workspace),
    createRegistry(workspace),
    createReleaseServer(workspace),
  ]);
  // A rolled back release is quarantined, so each cycle needs a new one.
  const versions = Array.from({ length: cycles + 1 }, (_, cycle) => `1.${cycle}.0`);
  const stack = await createRealStack(workspace, { engine, registry, versions });
  await engine.compose(stack.folder, 'up', '-d', '--quiet-pull');
  await waitFor('a healthy stack', async () => (await fetch(stack.healthUrl)).ok);
  const stop = startLoad(stack.healthUrl);
  const agent = await createAgentProcess(workspace, {
    ...engine.env,
    STATION_ID: stack.stationId,
    UPDATE_SERVER_URL: releases.manifestUrl,
    COMPOSE_PROJECT_PATH: stack.folder,
    COMPOSE_FILE: basename(stack.composeFile),
    HEALTHCHECK_URL: stack.healthUrl,
    AUTO_UPDATE: 'false',
    STABILIZATION_SECONDS: '2',
    // The first certificate restarts the proxy, once in its life and not in an update.
    HTTPS: 'off',
    PORT: '0',
  });
  await agent.start();
  await agent.idle();
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    log(`update and rollback ${cycle} of ${cycles}`);
    releases.setManifest(stack.releases[cycle] as object);
    await sleep(1000);
    const update = await agent.call('POST', '/update');
    assert.equal(update.body['result'], 'updated', JSON.stringify(update.body));
    await sleep(1000);
    const rollback = await agent.call('POST', '/rollback');
    assert.equal(rollback.body['result'], 'rolled_back', JSON.stringify(rollback.body));
    await agent.idle();
  }
  await sleep(1000);
  return await stop();
}

type Load = { requests: number; failed: number; slowestMs: number; faults: Record<string, number> };

/** Sends requests at a steady rate, as browsers and devices do, without waiting for earlier answers. */
function startLoad(url: string): () => Promise<Load> {
  const connections = new Agent({ keepAlive: true, maxSockets: 512 });
  const result: Load = { requests: 0, failed: 0, slowestMs: 0, faults: {} };
  const pending = new Set<Promise<void>>();
  const started = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - started) / 1000) * requestsPerSecond);
    while (result.requests < due) {
      result.requests += 1;
      const one = send(url, connections).then(({ fault, ms }) => {
        if (fault !== null) {
          result.failed += 1;
          result.faults[fault] = (result.faults[fault] ?? 0) + 1;
        }
        result.slowestMs = Math.max(result.slowestMs, Math.round(ms));
        pending.delete(one);
      });
      pending.add(one);
    }
  }, 5);
  return async () => {
    clearInterval(timer);
    await Promise.all(pending);
    connections.destroy();
    return result;
  };
}

function send(url: string, agent: Agent): Promise<{ fault: string | null; ms: number }> {
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (fault: string | null): void => resolve({ fault, ms: performance.now() - started });
    const outgoing = request(url, { agent, timeout: 30_000 }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () =>
        end(response.statusCode === 200 ? null : `${response.statusCode} ${body.slice(0, 200)}`),
      );
      response.on('error', () => end('the connection broke'));
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in 30 s')));
    outgoing.on('error', (error) => end('code' in error ? String(error.code) : error.message));
    outgoing.end();
  });
}
