import { join } from 'node:path';
import { readFile, writeFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { pinOf } from '../../../apps/backend/src/cloud/adapters/cloud-socket.ts';
import { run } from '../../rig/program.ts';

export type Certificates = {
  /** Path of the authority's certificate. */
  caFile: string;
  tls: { key: string; cert: string };
  /** Of the cloud's own key. */
  pin: string;
};

/** A new authority and a certificate for localhost and cloud.example, valid for a day; created with openssl. */
export async function makeCertificates(folder: string, name = 'cloud'): Promise<Certificates> {
  const path = (end: string): string => join(folder, `${name}-${end}`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const ca = ['-x509', '-days', '1', '-subj', '/CN=Test authority', '-keyout', path('ca.key'), '-out', path('ca.pem')];
  await run('openssl', ['req', ...key, ...ca]);
  await run('openssl', ['req', ...key, '-subj', '/CN=localhost', '-keyout', path('key'), '-out', path('request')]);
  await writeFile(path('names'), 'subjectAltName=DNS:localhost,DNS:cloud.example,IP:127.0.0.1\n');
  const by = [
    '-CA',
    path('ca.pem'),
    '-CAkey',
    path('ca.key'),
    '-CAcreateserial',
    '-days',
    '1',
    '-extfile',
    path('names'),
  ];
  await run('openssl', ['x509', '-req', '-in', path('request'), ...by, '-out', path('pem')]);
  const cert = await readFile(path('pem'), 'utf8');
  const pin = pinOf(new X509Certificate(cert).raw);
  return { caFile: path('ca.pem'), tls: { key: await readFile(path('key'), 'utf8'), cert }, pin };
}
