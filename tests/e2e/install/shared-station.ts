import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { takeInventory, type Inventory } from '../../station-machine/inventory.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { suite } from '../../station-machine/recipe.ts';
import { createSite, type Site } from '../../station-machine/site.ts';
import { createSurroundings, type Surroundings } from '../../station-machine/surroundings.ts';

/** What all stories of an installed station share: they run in one process, because building and installing take longest. */
export type Shared = Surroundings & {
  workspace: Workspace;
  site: Site;
  /** Options of install.sh for an unattended installation in this network. */
  answers: Record<string, string>;
};

/** 1.0.0 is what install.sh installs, 1.1.0 follows it, and 1.2.0 never becomes healthy. */
export const releases = { first: '1.0.0', next: '1.1.0', bad: '1.2.0' } as const;

export const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** Limit that only tells a hang from work: beside other tests an installation takes several minutes. */
export const patientMs = 1_200_000;

let shared: Promise<Shared> | undefined;

async function open(): Promise<Shared> {
  const workspace = await createWorkspace();
  try {
    const surroundings = await createSurroundings(workspace);
    const site = await createSite(workspace, surroundings, {
      good: [releases.first, releases.next],
      bad: [releases.bad],
    });
    // Short waits, because the stories roll releases back.
    const answers = {
      ...site.answers,
      STABILIZATION_SECONDS: '2',
      HEALTHCHECK_TIMEOUT_SECONDS: '20',
      STATION_NAME: 'station',
    };
    return { ...surroundings, workspace, site, answers };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

export const openShared = (): Promise<Shared> => (shared ??= open());

after(async () => (await shared)?.workspace[Symbol.asyncDispose]());

/** What the one installation left, from a bare system by an answer file. */
export type Installed = {
  /** Of a machine that was shut down. Clone it before use. */
  disk: string;
  /** Of the same machine before the installation. */
  before: Inventory;
  /** What install.sh printed, and how long it took. */
  output: string;
  seconds: number;
  /** What a second run printed. */
  again: { output: string; seconds: number; changed: string[] };
};

let installed: Promise<Installed> | undefined;

/** The station that the other stories begin with. */
export const openInstalled = (): Promise<Installed> => (installed ??= installOnce());

async function installOnce(): Promise<Installed> {
  await (await openShared()).site.restore();
  const { bareDisk, start } = await openShared();
  await using machine = await start(await bareDisk());
  const before = await takeInventory(machine);
  await fetchInstaller(machine);
  const first = await runInstaller(machine);
  const marks = await marksOf(machine);
  const second = await runInstaller(machine);
  const changed = differences(marks, await marksOf(machine));
  const disk = await machine.powerOff();
  return { disk, before, ...first, again: { ...second, changed } };
}

let prepared: Promise<string> | undefined;

/** A disk with Docker (not by install.sh), the images of the first release, and a container of somebody else. Clone it before use. */
export const openPrepared = (): Promise<string> => (prepared ??= prepareOnce());

async function prepareOnce(): Promise<string> {
  const { bareDisk, start, dockerRepository, site } = await openShared();
  await using machine = await start(await bareDisk());
  const names = ['backend', 'frontend'].map((name) => `${site.images}/${name}:${releases.first}`);
  const images = [...names, `${site.images}/proxy:2`, site.answers['MQTT_IMAGE'] ?? ''];
  await machine.must(
    `set -e; export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q install -y --no-install-recommends curl busybox-static
    ${suite === 'bookworm' ? dockerOf(`${dockerRepository}/debian`) : dockerOfDebian}
    mkdir -p /srv/own/bin && cp /bin/busybox /srv/own/bin/sh && tar -C /srv/own -c . | docker import - own-image:1
    docker run --detach --name own-container --volume own-volume:/data --restart always own-image:1 \
      sh -c 'while :; do sleep 1; done'
    for image in ${images.join(' ')}; do docker pull -q "$image"; done`,
    { timeoutMs: patientMs },
  );
  return await machine.powerOff();
}

/** As Docker's manual says. */
const dockerOf = (repository: string): string => `install -d /etc/apt/keyrings
    curl -fsS ${repository}/gpg -o /etc/apt/keyrings/docker.asc
    echo "deb [signed-by=/etc/apt/keyrings/docker.asc] ${repository} bookworm stable" >/etc/apt/sources.list.d/docker.list
    apt-get -q update
    apt-get -q install -y --no-install-recommends docker-ce docker-ce-cli containerd.io docker-compose-plugin`;

const dockerOfDebian = 'apt-get -q install -y --no-install-recommends docker.io docker-cli docker-compose';

/** As the manual says, but without a pipe, so that the script can be run again. A bare Debian has no curl. */
export async function fetchInstaller(machine: Machine): Promise<void> {
  const { site, answers } = await openShared();
  const lines = Object.entries(answers).map(([name, value]) => `${name}=${value}\n`);
  await machine.writeFile('/tmp/answers', lines.join(''), { mode: 0o600 });
  await machine.must(`perl -MIO::Socket::INET -e '
    my ($host, $path) = $ARGV[0] =~ m{^http://([^/]+)(.*)$};
    my $to = IO::Socket::INET->new($host) or die "$host: $!";
    print $to "GET $path HTTP/1.0\\r\\nHost: $host\\r\\n\\r\\n";
    while (<$to>) { last if /^\\r$/ }
    print while <$to>' ${site.url}/install.sh >/tmp/install.sh`);
}

/** @throws with the last lines of its output when it fails. */
export async function runInstaller(machine: Machine, more = ''): Promise<{ output: string; seconds: number }> {
  const started = performance.now();
  const command = `sh /tmp/install.sh --answers /tmp/answers --yes ${more} 2>&1`;
  const output = await machine.must(command, { timeoutMs: patientMs });
  return { output, seconds: (performance.now() - started) / 1000 };
}

/** The steps of a run of install.sh with the time that each took, as it prints them. */
export const stepsIn = (output: string): string[] =>
  [...output.matchAll(/^\[(\d\/\d)\] (\w+)\n(?:(?!\[\d)[^]*?)done in (\d+) s$/gm)].map(
    ([, number, name, took]) => `${number} ${name} ${took} s`,
  );

/** Everything that would differ if a run had restarted or rewritten a part of the station. */
async function marksOf(machine: Machine): Promise<string[]> {
  const files = '/opt /etc /var/lib/station-agent /usr/local';
  const listed = await machine.must(
    `find ${files} -xdev -type f -printf '%p %T@ %m %s\\n' | grep -v '^/var/lib/station-agent' | sort
    docker ps --all --no-trunc --format '{{.Names}} {{.ID}}' | sort
    docker inspect --format '{{.Name}} {{.State.StartedAt}}' $(docker ps --all --quiet) | sort
    systemctl show --property=MainPID station-agent station-bluez docker avahi-daemon`,
  );
  return listed.split('\n');
}

const differences = (before: readonly string[], after: readonly string[]): string[] => [
  ...before.filter((line) => !after.includes(line)).map((line) => `- ${line}`),
  ...after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
];

/** A station from the shared disk, healthy. */
export async function startInstalled(): Promise<Machine> {
  const { disks, start } = await openShared();
  const machine = await start(await disks.clone((await openInstalled()).disk));
  await waitUntilHealthy(machine);
  return machine;
}

/** Resolves with the release's version. */
export async function waitUntilHealthy(machine: Machine, timeoutMs = patientMs): Promise<string> {
  const { code, stdout } = await machine.run(
    `until curl --silent --fail --max-time 5 http://localhost/api/health; do sleep 0.3; done`,
    { timeoutMs },
  );
  if (code !== 0) assert.fail(`the station is not healthy:\n${await explain(machine)}`);
  return (JSON.parse(stdout) as { version: string }).version;
}

/** The state of a station for people. */
export async function explain(machine: Machine): Promise<string> {
  const { stdout } = await machine.run(`tail -n 15 /var/log/station-install.log
    systemctl --failed --no-legend
    docker ps --all
    curl --silent --unix-socket /run/station-agent/agent.sock http://localhost/status
    journalctl --no-pager -o cat -u station-agent -n 25
    journalctl --no-pager -o cat -u docker -n 8`);
  return stdout;
}

export type Status = {
  currentVersion: string | null;
  updating: boolean;
  operation: { phase: string; version: string } | null;
  quarantined: { version: string; reason: string }[];
};

export const statusOf = async (machine: Machine): Promise<Status> =>
  JSON.parse(
    await machine.must('curl -sSf --unix-socket /run/station-agent/agent.sock http://localhost/status'),
  ) as Status;

/** A request to the agent with its token, which stays out of the arguments. */
export const postToAgent = (machine: Machine, path: string): Promise<string> =>
  machine.must(
    `token=$(sed -n 's/^AGENT_TOKEN=//p' /opt/station-agent/.env)
    curl -sS --unix-socket /run/station-agent/agent.sock -X POST -H @- -H 'content-type: application/json' -d '{}' 'http://localhost${path}' <<END
authorization: Bearer $token
END`,
    { timeoutMs: patientMs },
  );
