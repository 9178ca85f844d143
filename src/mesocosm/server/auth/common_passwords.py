"""Passwords that guessers try first, of eight characters and more, in lower case."""

COMMON = frozenset(
    """
    password passw0rd p@ssword p@ssw0rd pa$$word passwort password1 password12 password123 password1234 mypassword
    newpassword passphrase letmein1 letmein123 letmeinnow welcome1 welcome123 welcome1234 changeme changeme1 changeme123
    changeit default1 default123 administrator admin123 admin1234 admin12345 adminadmin root1234 rootroot toor1234
    superuser supervisor sysadmin user1234 useruser guest1234 testtest test1234 test12345 testing1 testing123 demo1234
    demodemo secret12 secret123 topsecret iloveyou iloveyou1 iloveyou2 ilovegod iloveme1 lovelove loveyou1 princess
    princess1 sunshine sunshine1 football football1 baseball baseball1 basketball softball volleyball swimming superman
    superman1 batman123 spiderman starwars startrek pokemon1 pokemon123 minecraft fortnite1 whatever whatever1 trustno1
    dragon12 dragon123 master12 master123 monkey12 monkey123 shadow12 shadow123 michael1 jennifer jordan23 michelle
    charlie1 samantha victoria alexander elizabeth christian christopher hello123 hello1234 hellohello goodbye1 computer
    computer1 internet internet1 samsung1 google123 facebook facebook1 linkedin1 qwertyui qwertyuiop qwerty12 qwerty123
    qwerty1234 qwerty12345 qwertz123 azertyuiop asdfghjk asdfghjkl asdf1234 asdfasdf zxcvbnm1 zxcvbnm123 1qaz2wsx
    1qaz2wsx3edc 1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 qazwsxedc zaq12wsx 12345678 123456789 1234567890 0123456789
    01234567 87654321 987654321 9876543210 11111111 111111111 1111111111 00000000 000000000 22222222 88888888 99999999
    12341234 123123123 12121212 11223344 1122334455 112233445566 12344321 123454321 123321123 147258369 159357456
    98765432 13243546 102030405 abcd1234 abc12345 abc123456 abcdefgh abcdefghi abcdef123 abcabcabc a1b2c3d4 a1b2c3d4e5
    aa123456 aaaaaaaa aaaa1111 asdasdasd qweasdzxc qweqweqwe zxczxczxc blink182 liverpool liverpool1 arsenal1 chelsea1
    barcelona juventus manchester manunited realmadrid mustang1 corvette mercedes porsche1 ferrari1 yamaha12 harley12
    slipknot metallica nirvana1 greenday eminem123 beautiful butterfly blessing blessed1 jesus123 jesuschrist angel123
    babygirl babygirl1 babyboy1 sweetheart sweetie1 chocolate cookie123 banana123 cheese12 pepper12 ginger12 buttercup
    snowball midnight moonlight rainbow1 lightning hurricane mountain thunder1 elephant dolphin1 kitty123 hellokitty
    doggie12 bulldogs cowboys1 steelers eagles12 patriots redskins yankees1 lakers24 maverick wolverine godzilla
    nintendo playstation xbox3600 letitbe1 freedom1 liberty1 america1 american canada12 england1 scotland ireland1
    december november october1 september february january1 monday12 summer12 summer123 winter12 winter123 spring12
    spring123 autumn12 autumn123 hackathon hackathon1 mesocosm mesocosm1 benchmark benchmark1
    """.split()  # noqa: SIM905 -- three hundred literals in quotes would say nothing more
)
"""In lower case; a trailing number or mark does not make one of them another."""
