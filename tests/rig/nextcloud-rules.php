<?php
// A WebDAV folder on sabre/dav with Nextcloud's rules for names (its FilenameValidator, with what it calls "Windows compatibility"), and a
// quota. For PHP's own web server; the environment says what it shares.
require '/usr/share/php/Sabre/autoload.php';

use Sabre\DAV;

final class InvalidName extends DAV\Exception {
    public function getHTTPCode() { return 400; }
}

function checkName(string $name): void {
    $lower = mb_strtolower($name);
    if (trim($name) === '' || strlen($name) > 250) throw new InvalidName('The name is empty or too long');
    if ($lower === '.htaccess') throw new InvalidName('This name is forbidden');
    foreach (['.part', '.filepart', ' ', '.'] as $ending)
        if (str_ends_with($lower, $ending)) throw new InvalidName("\"$ending\" is a forbidden file type.");
    if (preg_match('/[<>:"|?*\\\\\/\x00-\x1f]/', $name)) throw new InvalidName('A character of the name is forbidden');
    $base = substr($lower, 0, strpos($lower, '.', 1) ?: null);
    if (preg_match('/^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/', $base)) throw new InvalidName('This name is forbidden');
}

final class Folder extends DAV\FS\Directory {
    public function createFile($name, $data = null) { checkName($name); return parent::createFile($name, $data); }
    public function createDirectory($name) { checkName($name); parent::createDirectory($name); }
    public function setName($name) { checkName($name); parent::setName($name); }
    public function getChild($name) {
        $path = $this->path . '/' . $name;
        if (!file_exists($path)) throw new DAV\Exception\NotFound($name);
        return is_dir($path) ? new self($path) : new File($path);
    }
}

final class File extends DAV\FS\File {
    public function setName($name) { checkName($name); parent::setName($name); }
}

/** As Nextcloud's own plugin: by the length that the client names. */
final class Quota extends DAV\ServerPlugin {
    public function initialize(DAV\Server $server) {
        $server->subscribeEvent('beforeMethod', function ($method) {
            if ($method !== 'PUT' || getenv('DAV_QUOTA') === '') return;
            if (!isset($_SERVER['CONTENT_LENGTH'])) throw new DAV\Exception\BadRequest('No length');
            if ((int)$_SERVER['CONTENT_LENGTH'] > (int)getenv('DAV_QUOTA')) throw new DAV\Exception\InsufficientStorage();
        });
    }
}

final class Basic extends DAV\Auth\Backend\AbstractBasic {
    protected function validateUserPass($name, $word) { return $name === getenv('DAV_USER') && $word === getenv('DAV_PASSWORD'); }
}

final class Digest extends DAV\Auth\Backend\AbstractDigest {
    public function getDigestHash($realm, $name) {
        return $name === getenv('DAV_USER') ? md5("$name:$realm:" . getenv('DAV_PASSWORD')) : null;
    }
}

$server = new DAV\Server(new Folder(getenv('DAV_FILES')));
$server->setBaseUri(getenv('DAV_PATH'));
$server->addPlugin(new DAV\Auth\Plugin(getenv('DAV_DIGEST') ? new Digest() : new Basic(), getenv('DAV_REALM')));
$server->addPlugin(new Quota());
register_shutdown_function(function () {
    $path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
    file_put_contents(getenv('DAV_LOG'), "{$_SERVER['REQUEST_METHOD']} $path " . http_response_code() . "\n", FILE_APPEND);
});
$server->exec();
