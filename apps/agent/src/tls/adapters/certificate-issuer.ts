import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509';
import * as x509 from '@peculiar/x509';
import type { CertificateFacts, KeyPair } from '../tls-ports.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const isCritical = true;
/** Independent of the clock, which may be wrong at the first start. */
const authorityFrom = new Date('2020-01-01T00:00:00Z');
const serverAuthentication = '1.3.6.1.5.5.7.3.1';

const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'];
/** It would be unlimited if it were not named. */
const allOfIpv6 = '::/0';

x509.cryptoProvider.set(webcrypto);

/** An authority that can vouch for names in `.local` and for private addresses only. ECDSA with the curve P-256. */
export async function makeAuthority(commonName: string, notAfter: number): Promise<KeyPair> {
  const name = new x509.Name([{ CN: [commonName] }, { O: ['Station'] }]);
  const keys = await makeKeys();
  const certificate = await signAuthority(name, keys, notAfter);
  return { certificate, key: await exportKey(keys.privateKey) };
}

/** The same name and key with another end, so that what it signed is good with either. */
export async function renewAuthority(authority: KeyPair, notAfter: number): Promise<KeyPair> {
  const present = new x509.X509Certificate(authority.certificate);
  const publicKey = await present.publicKey.export();
  const keys = { publicKey, privateKey: await importKey(authority.key) };
  return { certificate: await signAuthority(present.subjectName, keys, notAfter), key: authority.key };
}

async function signAuthority(name: x509.Name, keys: webcrypto.CryptoKeyPair, notAfter: number): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: makeSerial(),
    name: name.toJSON(),
    notBefore: authorityFrom,
    notAfter: new Date(notAfter),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, isCritical),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, isCritical),
      new x509.Extension(id_ce_nameConstraints, isCritical, AsnConvert.serialize(nameConstraints())),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toText(certificate);
}

/** A certificate of a server with a new key. */
export async function issue(
  authority: KeyPair,
  { names, addresses, notBefore, notAfter }: CertificateFacts,
): Promise<KeyPair> {
  const keys = await makeKeys();
  const issuer = new x509.X509Certificate(authority.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: makeSerial(),
    subject: [{ CN: [names[0]!] }],
    issuer: issuer.subjectName,
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, isCritical),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, isCritical),
      new x509.ExtendedKeyUsageExtension([serverAuthentication]),
      new x509.SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: 'dns', value }) as const),
        ...addresses.map((value) => ({ type: 'ip', value }) as const),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: toText(certificate), key: await exportKey(keys.privateKey) };
}

const makeKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

/** 20 bytes at most, positive and not zero (RFC 5280, 4.1.2.2). */
function makeSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function nameConstraints(): NameConstraints {
  const network = (iPAddress: string): GeneralSubtree => new GeneralSubtree({ base: new GeneralName({ iPAddress }) });
  const local = new GeneralSubtree({ base: new GeneralName({ dNSName: 'local' }) });
  return new NameConstraints({
    permittedSubtrees: new GeneralSubtrees([local, ...privateNetworks.map(network)]),
    excludedSubtrees: new GeneralSubtrees([network(allOfIpv6)]),
  });
}

const toText = (certificate: x509.X509Certificate): string => `${certificate.toString('pem')}\n`;

const exportKey = async (key: webcrypto.CryptoKey): Promise<string> =>
  `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), algorithm, false, ['sign']);
