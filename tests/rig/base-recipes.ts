/** Content of a base image: programs of Debian packages (or npm's Node runtime) with their libraries. */
export type BaseRecipe = {
  /** Upstream name and tag that image recipes and compose files use. */
  name: string;
  packages: readonly string[];
  /** Path on this machine → path in the image. Libraries of dynamic programs are added. */
  files: Readonly<Record<string, string>>;
  /** File capabilities that the upstream image gives a program, by its path in the image. */
  capabilities?: Readonly<Record<string, string>>;
  user: { name: string; id: number };
  /** Folders that belong to `user`. */
  folders: readonly string[];
  config: { Env: string[]; Cmd: string[]; WorkingDir?: string };
};

const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The base images of `deploy/`, with the properties of the upstream ones that matter there: users, paths, the shell's
 * tools, and the file capability of Caddy's executable.
 * @param nodeProgram the Node runtime to put into the image
 */
export const baseRecipes = (nodeProgram: string): readonly BaseRecipe[] => [
  {
    name: 'node:26-bookworm-slim',
    packages: ['bash', 'libatomic1'],
    files: { [nodeProgram]: '/usr/local/bin/node', '/bin/bash': '/bin/bash' },
    user: { name: 'node', id: 1000 },
    folders: ['/home/node'],
    config: { Env: [path], Cmd: ['node'] },
  },
  {
    name: 'caddy:2',
    packages: ['caddy', 'ca-certificates', 'libcap2-bin'],
    files: {
      '/usr/bin/caddy': '/usr/bin/caddy',
      '/etc/ssl/certs/ca-certificates.crt': '/etc/ssl/certs/ca-certificates.crt',
    },
    capabilities: { '/usr/bin/caddy': 'cap_net_bind_service=+ep' },
    user: { name: 'nobody', id: 65534 },
    folders: [],
    config: {
      Env: [path, 'XDG_CONFIG_HOME=/config', 'XDG_DATA_HOME=/data'],
      Cmd: ['caddy', 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
      WorkingDir: '/srv',
    },
  },
  {
    name: 'eclipse-mosquitto:2',
    packages: ['mosquitto', 'mosquitto-clients'],
    files: {
      '/usr/sbin/mosquitto': '/usr/sbin/mosquitto',
      '/usr/bin/mosquitto_ctrl': '/usr/bin/mosquitto_ctrl',
      '/usr/bin/mosquitto_passwd': '/usr/bin/mosquitto_passwd',
      '/usr/bin/mosquitto_sub': '/usr/bin/mosquitto_sub',
      '/usr/bin/mosquitto_pub': '/usr/bin/mosquitto_pub',
      '/usr/lib/<triplet>/mosquitto_dynamic_security.so': '/usr/lib/mosquitto_dynamic_security.so',
    },
    user: { name: 'mosquitto', id: 1883 },
    folders: ['/mosquitto', '/mosquitto/config', '/mosquitto/data', '/mosquitto/log'],
    config: { Env: [path], Cmd: ['/usr/sbin/mosquitto', '-c', '/mosquitto/config/mosquitto.conf'] },
  },
  {
    // Only its digest is asked for: tests run PostgreSQL as a process (postgres.ts).
    name: 'postgres:17',
    packages: [],
    files: {},
    user: { name: 'postgres', id: 999 },
    folders: [],
    config: { Env: [path], Cmd: ['postgres'] },
  },
];
