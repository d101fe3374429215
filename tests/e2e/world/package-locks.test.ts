import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { needPackages } from '../../rig/debian.ts';
import { run, tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';

const deploy = join(import.meta.dirname, '../../../deploy');

/** Unattended upgrades use apt just after the start of a machine, for minutes where the network is slow. The locks are those of a real apt. */
describe('while another program uses apt,', () => {
  before(() => needPackages(['apt-utils', 'dpkg-dev']));

  const fetching = ['install', '--yes', '--download-only', 'station-other'];

  for (const { lock, addresses, args } of [
    { lock: 'package lists', addresses: /Packages/, args: ['update'] },
    { lock: 'downloads', addresses: /station-other/, args: fetching },
  ])
    test(`install.sh waits for the lock of the ${lock}`, async () => {
      await using machine = await createMachine();
      if (args === fetching) await machine.apt(['update']);
      const other = machine.whileHeld(addresses, args);
      await other.waits();
      const installing = machine.script('install.sh', 'apt_install station-probe');
      await machine.says('waits');
      await other.ends();
      assert.match(await installing, /Installed: station-probe/);
      assert.equal(await machine.statusOf('station-probe'), 'installed');
    });

  test('reset.sh waits for it too', async () => {
    await using machine = await createMachine();
    await machine.script('install.sh', 'apt_install station-probe');
    const other = machine.whileHeld(/station-other/, fetching);
    await other.waits();
    const removing = machine.script('reset.sh', 'purge station-probe; echo "ended with $?"');
    await machine.says('waits');
    await other.ends();
    assert.match(await removing, /ended with 0/);
    assert.equal(await machine.statusOf('station-probe'), '');
  });
});

/** The package database, lists and downloads of a machine of its own, over this one's files. */
async function createMachine() {
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const { folder } = workspace;
  const mirror = starting.use(await startMirror(await makePackages(workspace)));
  const own = { '/var/lib/apt': 'lists/partial', '/var/cache/apt': 'archives/partial', '/var/lib/dpkg': 'updates' };
  const mounts: string[] = [];
  for (const [path, inside] of Object.entries({ ...own, '/etc/apt': 'apt.conf.d', '/var/log': 'apt' })) {
    await mkdir(join(folder, 'machine', path, inside), { recursive: true });
    mounts.push(`mount --bind ${join(folder, 'machine', path)} ${path}`);
  }
  await mkdir(join(folder, 'machine/var/lib/dpkg/info'));
  await writeFile(join(folder, 'machine/var/lib/dpkg/status'), '');
  await writeFile(join(folder, 'machine/etc/apt/apt.conf'), 'APT::Sandbox::User "root";\n');
  const source = `deb [trusted=yes] http://127.0.0.1:${mirror.port}/ ./\n`;
  await writeFile(join(folder, 'machine/etc/apt/sources.list'), source);
  const output = join(folder, 'output');
  const inside = (commands: string) =>
    tryRun('unshare', ['--mount', 'sh', '-c', [...mounts, commands].join('\n')], {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    });
  const apt = (args: readonly string[]) => inside(`exec apt-get ${args.join(' ')}`);
  const moved = starting.move();
  return {
    apt,
    /** Another program runs apt-get, and waits for the mirror with these addresses. */
    whileHeld: (addresses: RegExp, args: readonly string[]) => {
      mirror.hold(addresses);
      const ended = apt(args);
      return {
        waits: () => waitFor('the other program waits for the mirror', mirror.isHolding),
        ends: async (): Promise<void> => {
          mirror.release();
          assert.equal((await ended).exitCode, 0);
        },
      };
    },
    /** Runs commands with the functions of a script. @returns its output, and what it wrote into its log. */
    script: async (name: string, commands: string): Promise<string> => {
      const text = await readFile(join(deploy, name), 'utf8');
      // The last line runs the script.
      await writeFile(join(folder, name), text.trimEnd().split('\n').slice(0, -1).join('\n'));
      const state = `json='' terminal='' child='' warnings='' step_name=Packages step_started=0 agent_folder=${folder} record=${folder}/installed log=${output}`;
      await writeFile(output, '');
      const given = [
        `. ${folder}/${name}`,
        state,
        'export LC_ALL=C.UTF-8',
        'exec 3>&1',
        'sleep() { echo waits; command sleep 1; }',
        `{ ${commands}\n} >>${output} 2>&1`,
      ];
      await inside(given.join('\n'));
      return readFile(output, 'utf8');
    },
    says: (text: string) =>
      waitFor(`the script says "${text}"`, async () => (await readFile(output, 'utf8').catch(() => '')).includes(text)),
    statusOf: async (name: string): Promise<string> => {
      const database = join(folder, 'machine/var/lib/dpkg');
      const args = [`--admindir=${database}`, '--show', '--showformat', '${db:Status-Status}', name];
      return (await tryRun('dpkg-query', args)).stdout;
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** Two packages without files, and the list of them. @returns their folder. */
async function makePackages({ folder }: Workspace): Promise<string> {
  const mirror = join(folder, 'mirror');
  for (const name of ['station-probe', 'station-other']) {
    const control = join(folder, name, 'DEBIAN');
    await mkdir(control, { recursive: true });
    const fields = `Package: ${name}\nVersion: 1.0\nArchitecture: all\nMaintainer: Station <a@example.org>\nDescription: a test\n`;
    await writeFile(join(control, 'control'), fields);
    await mkdir(mirror, { recursive: true });
    await run('dpkg-deb', ['--build', join(folder, name), mirror]);
  }
  await writeFile(join(mirror, 'Packages'), await run('apt-ftparchive', ['packages', '.'], { cwd: mirror }));
  return mirror;
}

async function startMirror(folder: string) {
  let held = /^$/;
  let holding = 0;
  let released = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const path = request.url ?? '/';
      if (held.test(path)) {
        holding += 1;
        await released.promise;
      }
      const body = await readFile(join(folder, decodeURI(path))).catch(() => null);
      response.writeHead(body === null ? 404 : 200).end(body);
    };
    void answer();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold: (addresses: RegExp): void => {
      held = addresses;
      holding = 0;
      released = Promise.withResolvers();
    },
    isHolding: () => holding > 0,
    release: (): void => {
      held = /^$/;
      released.resolve();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
